// Drives an MCP server through one whole exchange with the official TypeScript client.
//
//     one_call.mjs [--mode legacy|auto|2026-07-28] [--tool NAME] [--args JSON] http URL
//     one_call.mjs [--mode legacy|auto|2026-07-28] [--tool NAME] [--args JSON] stdio COMMAND [ARGUMENT ...]
//
// Connects, lists every tool, calls one tool and one that does not exist, and prints one line of JSON. Without
// --mode the client negotiates as it does by default; without --tool the call is left out and `result` is null.
// TOOLRAIL_TEST_NODE_MODULES names the folder that `cargo xtask test` installed the client into.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const DEADLINE_MS = 30_000;
const MOST_PAGES = 1000;
const UNKNOWN_TOOL = 'no.such.tool';

let transportName = 'client';
const deadline = setTimeout(() => fail(`no end after ${DEADLINE_MS} ms`), DEADLINE_MS);
try {
    const line = JSON.stringify(await exchange(parseArguments(process.argv.slice(2))));
    clearTimeout(deadline);
    process.stdout.write(`${line}\n`, () => process.exit(0));
} catch (error) {
    fail(error?.stack ?? error);
}

function parseArguments(words) {
    const options = {
        mode: process.env.TOOLRAIL_CLIENT_MODE,
        tool: process.env.TOOLRAIL_CLIENT_TOOL,
        args: process.env.TOOLRAIL_CLIENT_ARGS ?? '{}'
    };
    while (words[0]?.startsWith('--')) {
        const [flag, value] = words.splice(0, 2);
        const name = flag.slice(2);
        if (!(name in options) || value === undefined) {
            throw new Error(`unknown option or missing value: ${flag}; use --mode, --tool or --args`);
        }
        options[name] = value;
    }
    const [transport, ...target] = words;
    if (!['http', 'stdio'].includes(transport) || target.length === 0) {
        throw new Error('usage: one_call.mjs [--mode M] [--tool NAME] [--args JSON] http URL | stdio COMMAND [ARGUMENT ...]');
    }
    transportName = transport;
    return { ...options, args: JSON.parse(options.args), transport, target };
}

async function exchange(options) {
    const { Client, ...transports } = loadClient();
    const mode = options.mode && (['legacy', 'auto'].includes(options.mode) ? options.mode : { pin: options.mode });
    const client = new Client(
        { name: 'toolrail-client-test', version: '1.0.0' },
        { listMaxPages: MOST_PAGES, ...(mode && { versionNegotiation: { mode } }) }
    );
    await client.connect(openTransport(options, transports));
    const answer = {
        protocolVersion: client.getNegotiatedProtocolVersion(),
        serverInfo: client.getServerVersion() ?? null,
        // Without a cursor the client follows the server's cursors to the end.
        tools: (await client.listTools()).tools.map(tool => tool.name),
        result: options.tool ? await call(client, options.tool, options.args) : null,
        unknownTool: await callUnknown(client)
    };
    await client.close();
    return answer;
}

function loadClient() {
    const modules = process.env.TOOLRAIL_TEST_NODE_MODULES;
    if (!modules) throw new Error('TOOLRAIL_TEST_NODE_MODULES is not set; run the tests with `cargo xtask test`');
    // A bare import would be resolved from this file's folder, which has no node_modules.
    const require = createRequire(join(modules, 'resolved-from-here.js'));
    const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
    const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
    return { Client, StreamableHTTPClientTransport, StdioClientTransport };
}

function openTransport({ transport, target }, { StreamableHTTPClientTransport, StdioClientTransport }) {
    if (transport === 'http') return new StreamableHTTPClientTransport(new URL(target[0]));
    const [command, ...args] = target;
    // By default the child sees a handful of variables; the server under test is configured by more.
    return new StdioClientTransport({ command, args, env: process.env });
}

async function call(client, name, args) {
    const answer = await client.callTool({ name, arguments: args });
    return {
        content: answer.content ?? [],
        structuredContent: answer.structuredContent ?? null,
        isError: answer.isError ?? false
    };
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

function fail(reason) {
    process.stderr.write(`${transportName} exchange failed: ${reason}\n`, () => process.exit(1));
}
