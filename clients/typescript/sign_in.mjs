// Signs in with an official TypeScript client and calls a tool; then comes back with a token that is good no more, so that it has
// to be refreshed. Usage as in `script.mjs`; prints one line of JSON.

import { signIn } from './browser.mjs';
import { call, clientOf, main } from './script.mjs';

const REDIRECT = 'http://127.0.0.1:18090/callback';

// Whoever uses the client, and what the client keeps for them.
class Person {
    signIns = 0;
    get redirectUrl() {
        return REDIRECT;
    }
    get clientMetadata() {
        return {
            client_name: 'toolrail-client-test',
            redirect_uris: [REDIRECT],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
            token_endpoint_auth_method: 'none',
            application_type: 'native'
        };
    }
    state() {
        this.lastState = `state-${Math.random()}`;
        return this.lastState;
    }
    clientInformation() {
        return this.information;
    }
    saveClientInformation(information) {
        this.information = information;
    }
    tokens() {
        return this.saved;
    }
    saveTokens(tokens) {
        this.saved = tokens;
    }
    redirectToAuthorization(url) {
        this.sentTo = url;
    }
    saveCodeVerifier(verifier) {
        this.verifier = verifier;
    }
    codeVerifier() {
        return this.verifier;
    }
}

await main(async options => {
    const person = new Person();
    const first = await connect(options, person);
    const answer = { tools: (await first.listTools()).tools.map(tool => tool.name), result: null, refreshed: false };
    if (options.tool) answer.result = await call(first, options.tool, options.args);
    await first.close();
    const before = person.saved;
    person.saved = { ...before, access_token: 'none.of.yours' };
    const again = await connect(options, person);
    await again.listTools();
    await again.close();
    answer.refreshed = person.saved.access_token !== before.access_token && person.signIns === 1;
    return { ...answer, clientId: person.information.client_id, scope: before.scope ?? null };
}, 60_000);

async function connect(options, person) {
    const { client, Transport, isUnauthorized } = clientOf(options);
    const url = new URL(options.target[0]);
    const transport = new Transport(url, { authProvider: person });
    try {
        await client.connect(transport);
        return client;
    } catch (error) {
        if (!isUnauthorized(error)) throw error;
    }
    const back = await signIn(person.sentTo, REDIRECT);
    person.signIns += 1;
    if (back.searchParams.get('state') !== person.lastState) throw new Error(`another state came back: ${back}`);
    if (options.client === 'v1') await transport.finishAuth(back.searchParams.get('code'));
    else await transport.finishAuth(back.searchParams);
    const { client: signedIn, Transport: Next } = clientOf(options);
    await signedIn.connect(new Next(url, { authProvider: person }));
    return signedIn;
}
