// fetch: the request is made by the gateway's guarded client.

function headerName(name) {
  const text = `${name}`.toLowerCase();
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(text)) throw new TypeError(`${text.slice(0, 100)} is no name of a header`);
  return text;
}
function headerValue(value) {
  const text = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\r\n]/.test(text)) throw new TypeError('the value of a header has no line breaks');
  return text;
}

class Headers {
  #pairs = new Map();
  constructor(init) {
    if (init == null) return;
    if (typeof init !== 'object') throw new TypeError('Headers takes an object, pairs or Headers');
    const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name, value) {
    const key = headerName(name);
    const list = this.#pairs.get(key) ?? [];
    list.push(headerValue(value));
    this.#pairs.set(key, list);
  }
  delete(name) { this.#pairs.delete(headerName(name)); }
  get(name) { return this.#pairs.get(headerName(name))?.join(', ') ?? null; }
  getSetCookie() { return [...(this.#pairs.get('set-cookie') ?? [])]; }
  has(name) { return this.#pairs.has(headerName(name)); }
  set(name, value) { this.#pairs.set(headerName(name), [headerValue(value)]); }
  forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
  *entries() {
    for (const name of [...this.#pairs.keys()].sort()) {
      const values = this.#pairs.get(name);
      if (name === 'set-cookie') for (const value of values) yield [name, value];
      else yield [name, values.join(', ')];
    }
  }
  *keys() { for (const [name] of this.entries()) yield name; }
  *values() { for (const [, value] of this.entries()) yield value; }
  [Symbol.iterator]() { return this.entries(); }
}

// What may stand as a body: its bytes, and the type that they have unless somebody says otherwise.
function bodyOf(source) {
  if (source == null) return { bytes: null, type: null };
  if (source instanceof URLSearchParams) return { bytes: new TextEncoder().encode(source), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return { bytes: bytesOf(source, 'a body').slice(), type: null };
  if (typeof source === 'object' && typeof source.toString === 'function' && source.toString === Object.prototype.toString) {
    throw new TypeError('a body is a string, URLSearchParams, an ArrayBuffer or a typed array; JSON.stringify an object');
  }
  return { bytes: new TextEncoder().encode(`${source}`), type: 'text/plain;charset=UTF-8' };
}

class Body {
  #bytes = null;
  #used = false;
  static give(body, bytes) { body.#bytes = bytes; }
  static peek(body) { return body.#bytes; }
  get bodyUsed() { return this.#used; }
  #take() {
    if (this.#used) throw new TypeError('the body was read already; clone() first');
    this.#used = this.#bytes !== null;
    return this.#bytes ?? new Uint8Array(0);
  }
  async bytes() { return this.#take(); }
  async arrayBuffer() { return bufferOf(this.#take()); }
  async text() { return new TextDecoder().decode(this.#take()); }
  async json() { return JSON.parse(await this.text()); }
}
const { give: giveBody, peek: peekBody } = Body;
delete Body.give;
delete Body.peek;

const noBody = new Set(['GET', 'HEAD']);

class Request extends Body {
  #it;
  constructor(input, init = {}) {
    super();
    const from = input instanceof Request ? input : null;
    const method = `${init.method ?? from?.method ?? 'GET'}`;
    const upper = method.toUpperCase();
    const known = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'].includes(upper) ? upper : method;
    const headers = new Headers(init.headers ?? from?.headers);
    const { bytes, type } = init.body === undefined && from ? { bytes: peekBody(from), type: null } : bodyOf(init.body);
    if (bytes !== null && noBody.has(known)) throw new TypeError(`a request with the method ${known} has no body`);
    if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
    giveBody(this, bytes);
    const redirect = init.redirect ?? from?.redirect ?? 'follow';
    if (!['follow', 'error', 'manual'].includes(redirect)) throw new TypeError(`redirect is follow, error or manual, not ${redirect}`);
    this.#it = { url: from ? from.url : new URL(input).href, method: known, headers, redirect, signal: init.signal ?? from?.signal ?? makeSignal() };
  }
  get url() { return this.#it.url; }
  get method() { return this.#it.method; }
  get headers() { return this.#it.headers; }
  get redirect() { return this.#it.redirect; }
  get signal() { return this.#it.signal; }
  clone() { return new Request(this); }
}

class Response extends Body {
  #it;
  constructor(body = null, init = {}) {
    super();
    const status = init.status ?? 200;
    if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError('the status of a response is 200 to 599');
    const headers = new Headers(init.headers);
    const { bytes, type } = bodyOf(body);
    if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
    giveBody(this, bytes);
    this.#it = { status, statusText: `${init.statusText ?? ''}`, headers, url: '', redirected: false, type: 'default' };
  }
  static received(head, buffer) {
    const response = new Response(null, { status: Math.min(Math.max(head.status, 200), 599), headers: head.headers, statusText: head.statusText });
    response.#it.url = head.url;
    response.#it.redirected = head.redirected;
    response.#it.type = 'basic';
    giveBody(response, buffer === undefined ? null : new Uint8Array(buffer));
    return response;
  }
  static json(value, init = {}) {
    const response = new Response(JSON.stringify(value), init);
    if (!new Headers(init.headers).has('content-type')) response.headers.set('content-type', 'application/json');
    return response;
  }
  static error() { const response = new Response(); response.#it.type = 'error'; return response; }
  get status() { return this.#it.status; }
  get statusText() { return this.#it.statusText; }
  get ok() { return this.#it.status >= 200 && this.#it.status <= 299; }
  get headers() { return this.#it.headers; }
  get url() { return this.#it.url; }
  get redirected() { return this.#it.redirected; }
  get type() { return this.#it.type; }
  clone() {
    const copy = new Response(null, { status: this.status, statusText: this.statusText, headers: this.headers });
    copy.#it.url = this.url;
    giveBody(copy, peekBody(this));
    return copy;
  }
}
const { received } = Response;
delete Response.received;

async function fetch(input, init) {
  const request = new Request(input, init);
  const { signal } = request;
  signal.throwIfAborted();
  const bytes = peekBody(request);
  const asking = ask({ fetch: { url: request.url, method: request.method, headers: [...request.headers], redirect: request.redirect } }, bytes === null ? undefined : bufferOf(bytes));
  const given = await new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    asking.then(resolve, reject);
  });
  return received(given.value, given.body);
}
