// Drives an MCP server through one whole exchange with an official TypeScript client; `script.mjs` has the usage.
//
// Connects, lists every tool, calls one tool and one that does not exist, and prints one line of JSON. Without --tool the
// call is left out and `result` is null.

import { call, main, open } from './script.mjs';

const UNKNOWN_TOOL = 'no.such.tool';

await main(async options => {
    const client = await open(options);
    const answer = {
        // The 1.x SDK tells its transport, and nobody else.
        protocolVersion: client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion ?? null,
        serverInfo: client.getServerVersion() ?? null,
        tools: await listEveryTool(client),
        result: options.tool ? await call(client, options.tool, options.args) : null,
        unknownTool: await callUnknown(client)
    };
    await client.close();
    return answer;
});

async function listEveryTool(client) {
    const names = [];
    let cursor;
    do {
        const page = await client.listTools(cursor && { cursor });
        names.push(...page.tools.map(tool => tool.name));
        cursor = page.nextCursor;
    } while (cursor);
    return names;
}

async function callUnknown(client) {
    try {
        const answer = await client.callTool({ name: UNKNOWN_TOOL, arguments: {} });
        return { isError: answer.isError ?? false };
    } catch (error) {
        // Transport failures have codes that are words; only the server's own answer has a JSON-RPC number.
        if (typeof error.code !== 'number') throw error;
        return { code: error.code, message: error.message };
    }
}
