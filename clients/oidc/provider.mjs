// An identity provider for tests: panva's oidc-provider, with clients that register themselves, tokens for whatever resource is
// asked for, and one client that a gateway is known by. Everybody may sign in, with any password; whoever does is in "staff".
//
//     provider.mjs GATEWAY_CALLBACK
//
// Prints {"issuer": …} as one line when it listens, on a free port of this machine. POST /rotate has it sign with a new key from
// then on; the one before stays published.

import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const modules = process.env.TOOLRAIL_TEST_NODE_MODULES;
const { Provider } = await import(pathToFileURL(join(modules, 'oidc-provider/lib/index.js')));

const [callback] = process.argv.slice(2);
const SCOPE = 'tools.call';
let keys = [newKey()];
let answer;

const server = createServer((request, response) => {
    if (request.method === 'POST' && request.url === '/rotate') {
        keys = [newKey(), keys[0]];
        answer = provider();
        response.writeHead(204).end();
        return;
    }
    answer(request, response);
});

server.listen(0, '127.0.0.1', () => {
    answer = provider();
    process.stdout.write(`${JSON.stringify({ issuer: issuer() })}\n`);
});

function issuer() {
    return `http://127.0.0.1:${server.address().port}`;
}

function newKey() {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };
}

function provider() {
    const made = new Provider(issuer(), {
        jwks: { keys },
        cookies: { keys: ['a key for the cookies of tests'] },
        clients: [
            {
                client_id: 'gateway',
                client_secret: 's3cret-of-the-gateway',
                redirect_uris: [callback],
                grant_types: ['authorization_code', 'refresh_token'],
                response_types: ['code']
            }
        ],
        scopes: ['openid', 'offline_access', SCOPE],
        claims: { openid: ['sub'], email: ['email'], profile: ['groups'] },
        conformIdTokenClaims: false,
        findAccount: async (_, id) => ({
            accountId: id,
            claims: async () => ({ sub: id, email: `${id}@example.com`, groups: ['staff'] })
        }),
        issueRefreshToken: async () => true,
        features: {
            registration: { enabled: true },
            revocation: { enabled: true },
            resourceIndicators: {
                enabled: true,
                getResourceServerInfo: async (_, resource) => ({
                    scope: SCOPE,
                    audience: resource,
                    accessTokenFormat: 'jwt',
                    jwt: { sign: { alg: 'RS256' } }
                }),
                useGrantedResource: async () => true
            }
        }
    });
    return made.callback();
}
