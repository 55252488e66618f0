"""Runs the search class of registry-tools on a file of tools and a file of queries.

Both have a line of JSON each; a tool has name, description, tags. Prints one line: how long it took, and what was found.
"""

import json
import logging
import resource
import sys
import time

import jieba
from registrytools.registry.models import ToolMetadata
from registrytools.search.bm25_search import BM25Search


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def metadata(tool):
    tags = set(tool.get("tags") or [])
    return ToolMetadata(name=tool["name"], description=tool["description"], tags=tags, category=tool.get("category"))


def main(tools_path, queries_path, limit):
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    tools = [metadata(tool) for tool in lines(tools_path)]
    queries = lines(queries_path)
    search = BM25Search()
    started = time.perf_counter()
    search.index(tools)
    build = time.perf_counter() - started
    microseconds, ranked = [], []
    for query in queries:
        started = time.perf_counter()
        hits = search.search(query, tools, limit)
        microseconds.append((time.perf_counter() - started) * 1e6)
        ranked.append([hit.tool_name for hit in hits])
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"buildMs": build * 1e3, "microseconds": microseconds, "ranked": ranked, "residentBytes": resident}))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
