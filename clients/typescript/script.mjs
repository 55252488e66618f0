// What the client scripts share: their command line, their deadline, and how a client is opened.
//
//     SCRIPT [--client v2|v1] [--mode legacy|auto|2026-07-28] [--tool NAME] [--args JSON] http URL
//     SCRIPT [...] sse URL                            (only with --client v1)
//     SCRIPT [...] stdio COMMAND [ARGUMENT ...]
//
// `v2` is @modelcontextprotocol/client; `v1` is @modelcontextprotocol/sdk, which knows no modes. Without --mode the client
// negotiates as it does by default. TOOLRAIL_TEST_NODE_MODULES names the folder that `cargo xtask test` installed them into.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const MOST_PAGES = 1000;

// Runs one exchange and prints what it answers as one line of JSON.
export async function main(exchange, deadlineMs = 30_000) {
    const deadline = setTimeout(() => fail(`no end after ${deadlineMs} ms`), deadlineMs);
    try {
        const line = JSON.stringify(await exchange(parseArguments(process.argv.slice(2))));
        clearTimeout(deadline);
        process.stdout.write(`${line}\n`, () => process.exit(0));
    } catch (error) {
        fail(error?.stack ?? error);
    }
}

// A connected client; `settings` are the client's own options.
export async function open(options, settings = {}, prepare = () => {}) {
    const { Client, ...transports } = options.client === 'v1' ? loadV1() : loadV2();
    const mode = options.mode && (['legacy', 'auto'].includes(options.mode) ? options.mode : { pin: options.mode });
    const client = new Client(
        { name: 'toolrail-client-test', version: '1.0.0' },
        { listMaxPages: MOST_PAGES, ...(mode && { versionNegotiation: { mode } }), ...settings }
    );
    prepare(client);
    await client.connect(openTransport(options, transports));
    return client;
}

// A client yet to be connected, its transport over HTTP, and what tells that somebody has to sign in first.
export function clientOf(options) {
    const { Client, StreamableHTTPClientTransport: Transport } = options.client === 'v1' ? loadV1() : loadV2();
    const client = new Client({ name: 'toolrail-client-test', version: '1.0.0' }, {});
    return { client, Transport, isUnauthorized: error => /unauthorized/i.test(`${error?.name} ${error?.constructor?.name} ${error?.message}`) };
}

// The outcome of a call, with nothing left out.
export async function call(client, name, args, options) {
    const answer = await client.callTool({ name, arguments: args }, ...(options ?? []));
    return {
        content: answer.content ?? [],
        structuredContent: answer.structuredContent ?? null,
        isError: answer.isError ?? false
    };
}

function parseArguments(words) {
    const options = {
        client: 'v2',
        mode: process.env.TOOLRAIL_CLIENT_MODE,
        tool: process.env.TOOLRAIL_CLIENT_TOOL,
        args: process.env.TOOLRAIL_CLIENT_ARGS ?? '{}',
        count: '1'
    };
    while (words[0]?.startsWith('--')) {
        const [flag, value] = words.splice(0, 2);
        const name = flag.slice(2);
        if (!(name in options) || value === undefined) {
            throw new Error(`unknown option or missing value: ${flag}; use --client, --mode, --tool, --args or --count`);
        }
        options[name] = value;
    }
    const [transport, ...target] = words;
    if (!['http', 'sse', 'stdio'].includes(transport) || target.length === 0) {
        throw new Error('name what to connect to: http URL | sse URL | stdio COMMAND [ARGUMENT ...]');
    }
    return { ...options, args: JSON.parse(options.args), count: Number(options.count), transport, target };
}

function loader() {
    const modules = process.env.TOOLRAIL_TEST_NODE_MODULES;
    if (!modules) throw new Error('TOOLRAIL_TEST_NODE_MODULES is not set; run the tests with `cargo xtask test`');
    // A bare import would be resolved from this file's folder, which has no node_modules.
    return createRequire(join(modules, 'resolved-from-here.js'));
}

function loadV2() {
    const require = loader();
    const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
    const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
    return { Client, StreamableHTTPClientTransport, StdioClientTransport };
}

function loadV1() {
    const require = loader();
    const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
    const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
    return { Client, StreamableHTTPClientTransport, SSEClientTransport, StdioClientTransport };
}

function openTransport({ transport, target }, transports) {
    if (transport === 'http') return new transports.StreamableHTTPClientTransport(new URL(target[0]));
    if (transport === 'sse') return new transports.SSEClientTransport(new URL(target[0]));
    const [command, ...args] = target;
    // By default the child sees a handful of variables; the server under test is configured by more.
    return new transports.StdioClientTransport({ command, args, env: process.env });
}

function fail(reason) {
    process.stderr.write(`exchange failed: ${reason}\n`, () => process.exit(1));
}
