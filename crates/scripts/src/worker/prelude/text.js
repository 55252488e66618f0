// Text and bytes.

function bytesOf(source, whatFor) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError(`${whatFor} needs an ArrayBuffer or a typed array`);
}

// Exactly these bytes, as a buffer of their own.
function bufferOf(bytes) {
  return bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
}

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return new Uint8Array(native.encode(`${text}`.toWellFormed())); }
  encodeInto(text, into) {
    let read = 0;
    let written = 0;
    for (const character of `${text}`) {
      const bytes = this.encode(character);
      if (written + bytes.length > into.length) break;
      into.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

class TextDecoder {
  #fatal;
  #ignoreBOM;
  #held = new Uint8Array(0);
  constructor(label = 'utf-8', options = {}) {
    if (!['utf-8', 'utf8', 'unicode-1-1-utf-8'].includes(`${label}`.trim().toLowerCase())) {
      throw new RangeError(`TextDecoder knows utf-8 only, not ${label}`);
    }
    this.#fatal = !!options.fatal;
    this.#ignoreBOM = !!options.ignoreBOM;
  }
  get encoding() { return 'utf-8'; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(source = new Uint8Array(0), options = {}) {
    let bytes = bytesOf(source, 'decode');
    if (this.#held.length > 0) {
      const whole = new Uint8Array(this.#held.length + bytes.length);
      whole.set(this.#held);
      whole.set(bytes, this.#held.length);
      bytes = whole;
      this.#held = new Uint8Array(0);
    }
    if (options.stream) {
      const end = native.whole(bufferOf(bytes));
      this.#held = bytes.slice(end);
      bytes = bytes.subarray(0, end);
    }
    const text = native.decode(bufferOf(bytes), this.#fatal);
    if (text === undefined) throw new TypeError('these bytes are not UTF-8');
    return !this.#ignoreBOM && text.startsWith('\uFEFF') ? text.slice(1) : text;
  }
}

function btoa(text) {
  const bytes = Uint8Array.from(`${text}`, (character) => {
    const code = character.charCodeAt(0);
    if (character.length > 1 || code > 255) throw new DOMException('btoa takes characters up to U+00FF only', 'InvalidCharacterError');
    return code;
  });
  return native.toBase64(bufferOf(bytes));
}

function atob(text) {
  const buffer = native.fromBase64(`${text}`);
  if (buffer === undefined) throw new DOMException('atob takes base64 only', 'InvalidCharacterError');
  const bytes = new Uint8Array(buffer);
  let out = '';
  for (let at = 0; at < bytes.length; at += 8192) out += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return out;
}

// A copy of a value, with what occurs twice in it occurring twice in the copy, circles included.
function structuredClone(value, options = {}) {
  const seen = new Map();
  const refused = (what) => { throw new DOMException(`${what} cannot be cloned`, 'DataCloneError'); };
  const copy = (from) => {
    if (typeof from === 'function' || typeof from === 'symbol') refused(String(from).slice(0, 100));
    if (typeof from !== 'object' || from === null) return from;
    if (seen.has(from)) return seen.get(from);
    const keep = (to) => { seen.set(from, to); return to; };
    if (Array.isArray(from)) {
      const to = keep(new Array(from.length));
      for (const key of Object.keys(from)) to[key] = copy(from[key]);
      return to;
    }
    if (from instanceof Date) return keep(new Date(from.getTime()));
    if (from instanceof RegExp) return keep(new RegExp(from.source, from.flags));
    if (from instanceof Boolean || from instanceof Number || from instanceof String) return keep(Object(from.valueOf()));
    if (from instanceof ArrayBuffer) return keep(from.slice(0));
    if (ArrayBuffer.isView(from)) {
      const buffer = copy(from.buffer);
      return keep(new from.constructor(buffer, from.byteOffset, from instanceof DataView ? from.byteLength : from.length));
    }
    if (from instanceof Map) {
      const to = keep(new Map());
      for (const [key, member] of [...from]) to.set(copy(key), copy(member));
      return to;
    }
    if (from instanceof Set) {
      const to = keep(new Set());
      for (const member of [...from]) to.add(copy(member));
      return to;
    }
    if (from instanceof Error) {
      const kinds = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
      const to = keep(new (kinds[from.name] ?? Error)(from.message));
      if ('cause' in from) to.cause = copy(from.cause);
      return to;
    }
    if (from instanceof Promise || from instanceof WeakMap || from instanceof WeakSet || from instanceof WeakRef) refused(Object.prototype.toString.call(from));
    const to = keep({});
    for (const key of Object.keys(from)) to[key] = copy(from[key]);
    return to;
  };
  if (options?.transfer?.length > 0) refused('transferring: a value');
  return copy(value);
}
