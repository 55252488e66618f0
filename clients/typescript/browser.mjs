// A person with a browser, as far as signing in needs one: follows redirects, keeps cookies, fills in forms and agrees to
// everything, until it is sent to the address that the application waits at. That one it does not open.

const MOST_STEPS = 30;

export async function signIn(start, redirect) {
    const cookies = new Map();
    let next = { url: new URL(start), init: {} };
    for (let step = 0; step < MOST_STEPS; step += 1) {
        if (next.url.href.startsWith(redirect)) return next.url;
        const shown = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const headers = { ...next.init.headers, ...(shown && { cookie: shown }) };
        const answer = await fetch(next.url, { ...next.init, headers, redirect: 'manual' });
        keep(cookies, answer.headers.getSetCookie());
        const to = answer.headers.get('location');
        const page = await answer.text();
        next = to ? { url: new URL(to, next.url), init: {} } : submit(page, next.url, answer.status);
    }
    throw new Error(`not signed in after ${MOST_STEPS} steps`);
}

function keep(cookies, lines) {
    for (const line of lines) {
        const [pair, ...attributes] = line.split(';').map(part => part.trim());
        const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
        const isGone = !value || attributes.some(one => /^expires=.*1970/i.test(one));
        if (isGone) cookies.delete(name);
        else cookies.set(name, value);
    }
}

// The form of a page, filled in and sent with its first button.
function submit(page, from, status) {
    const form = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(page);
    if (!form) throw new Error(`no form at ${from.href}, but ${status}: ${page.slice(0, 2000)}`);
    const body = new URLSearchParams();
    for (const [field] of form[2].matchAll(/<input[^>]*>/g)) {
        const name = attribute(field, 'name');
        if (name) body.set(name, attribute(field, 'value') ?? 'ann');
    }
    const button = /<button[^>]*>/.exec(form[2])?.[0] ?? '';
    if (attribute(button, 'name')) body.set(attribute(button, 'name'), attribute(button, 'value') ?? '');
    const url = new URL(unescaped(form[1]), from);
    return { url, init: { method: 'POST', body, headers: { origin: from.origin } } };
}

function attribute(tag, name) {
    const found = new RegExp(`\\b${name}="([^"]*)"`).exec(tag);
    return found ? unescaped(found[1]) : undefined;
}

function unescaped(text) {
    return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
