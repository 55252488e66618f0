"""An MCP server on its standard streams that answers exactly what a file says: results by method, as JSON text.

`{line}` in a result stands for the request as it came, as a JSON string. What the file has under `after <method>` is sent
behind each answer to that method.
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    results = json.load(file)

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    result = results.get(request["method"])
    if result is None:
        answer = '"error":{"code":-32601,"message":"not here"}'
    else:
        answer = '"result":' + result.replace("{line}", json.dumps(line))
    print(f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},{answer}}}', flush=True)
    if after := results.get("after " + request["method"]):
        print(after, flush=True)
