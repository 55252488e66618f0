// Addresses; read and written by the gateway's own parser.

class URLSearchParams {
  #pairs = [];
  #changed = null;
  constructor(init = '') {
    if (typeof init === 'object' && init !== null) {
      const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
      for (const pair of pairs) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length > 0) throw new TypeError('each pair needs a name and a value');
        this.#pairs.push([`${name}`, `${value}`]);
      }
    } else {
      this.#pairs = JSON.parse(native.readQuery(`${init}`.toWellFormed().replace(/^\?/, '')));
    }
  }
  static follow(params, changed) { params.#changed = changed; return params; }
  static reset(params, query) { params.#pairs = JSON.parse(native.readQuery(query)); }
  #tell() { this.#changed?.(this.toString()); }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#pairs.push([`${name}`, `${value}`]); this.#tell(); }
  delete(name, value) {
    this.#pairs = this.#pairs.filter(([key, has]) => key !== `${name}` || (value !== undefined && has !== `${value}`));
    this.#tell();
  }
  get(name) { return this.#pairs.find(([key]) => key === `${name}`)?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([key]) => key === `${name}`).map(([, value]) => value); }
  has(name, value) { return this.#pairs.some(([key, has]) => key === `${name}` && (value === undefined || has === `${value}`)); }
  set(name, value) {
    const at = this.#pairs.findIndex(([key]) => key === `${name}`);
    if (at < 0) this.#pairs.push([`${name}`, `${value}`]);
    else this.#pairs = this.#pairs.filter(([key], index) => key !== `${name}` || index === at).map((pair, index) => (index === at ? [pair[0], `${value}`] : pair));
    this.#tell();
  }
  sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#tell(); }
  forEach(callback, self) { for (const [name, value] of [...this.#pairs]) callback.call(self, value, name, this); }
  *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return native.writeQuery(JSON.stringify(this.#pairs)); }
}
const { follow: followParams, reset: resetParams } = URLSearchParams;
delete URLSearchParams.follow;
delete URLSearchParams.reset;

class URL {
  #parts;
  #params;
  constructor(text, base) {
    const read = native.readUrl(`${text}`.toWellFormed(), base === undefined ? undefined : `${base}`.toWellFormed());
    if (read === undefined) throw new TypeError(`${`${text}`.slice(0, 200)} is no URL`);
    this.#parts = JSON.parse(read);
    const changed = (query) => { this.#change('search', query); };
    this.#params = followParams(new URLSearchParams(this.#parts.search), changed);
  }
  static canParse(text, base) { return native.readUrl(`${text}`.toWellFormed(), base === undefined ? undefined : `${base}`.toWellFormed()) !== undefined; }
  static parse(text, base) { try { return new URL(text, base); } catch { return null; } }
  #change(part, value) {
    const read = native.changeUrl(this.#parts.href, part, `${value}`.toWellFormed());
    if (read !== undefined) this.#parts = JSON.parse(read);
    else if (part === 'href') throw new TypeError(`${`${value}`.slice(0, 200)} is no URL`);
  }
  get searchParams() { return this.#params; }
  get origin() { return this.#parts.origin; }
  get href() { return this.#parts.href; }
  set href(value) { this.#change('href', value); resetParams(this.#params, this.#parts.search.replace(/^\?/, '')); }
  get search() { return this.#parts.search; }
  set search(value) { this.#change('search', value); resetParams(this.#params, this.#parts.search.replace(/^\?/, '')); }
  get protocol() { return this.#parts.protocol; }
  set protocol(value) { this.#change('protocol', value); }
  get username() { return this.#parts.username; }
  set username(value) { this.#change('username', value); }
  get password() { return this.#parts.password; }
  set password(value) { this.#change('password', value); }
  get host() { return this.#parts.host; }
  set host(value) { this.#change('host', value); }
  get hostname() { return this.#parts.hostname; }
  set hostname(value) { this.#change('hostname', value); }
  get port() { return this.#parts.port; }
  set port(value) { this.#change('port', value); }
  get pathname() { return this.#parts.pathname; }
  set pathname(value) { this.#change('pathname', value); }
  get hash() { return this.#parts.hash; }
  set hash(value) { this.#change('hash', value); }
  toString() { return this.href; }
  toJSON() { return this.href; }
}
