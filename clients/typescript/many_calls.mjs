// Calls one tool --count times with an official TypeScript client; `script.mjs` has the usage.
//
// A call whose connection was cut is made again. Prints how many calls were answered and how many were made again.
// Each answered call is told by one line on stderr, for the test to act in the middle.

import { call, main, open } from './script.mjs';

// A replica that is being killed still takes connections for a moment, and cuts them.
const MOST_AGAIN = 3;

await main(async options => {
    const client = await open(options);
    const told = { protocolVersion: client.getNegotiatedProtocolVersion(), answered: 0, again: 0 };
    for (let number = 0; number < options.count; number += 1) {
        const answer = await retried(client, options, told);
        if (answer.isError) throw new Error(`call ${number} failed: ${JSON.stringify(answer)}`);
        told.answered += 1;
        process.stderr.write(`answered ${told.answered}\n`);
    }
    await client.close();
    return told;
}, 60_000);

async function retried(client, options, told) {
    for (;;) {
        try {
            return await call(client, options.tool, options.args);
        } catch (error) {
            // Whatever the server itself said is its answer: only a connection that was cut may be tried again.
            const cut = typeof error.code !== 'number' && error instanceof TypeError;
            if (!cut || told.again >= MOST_AGAIN) throw error;
            told.again += 1;
        }
    }
}
