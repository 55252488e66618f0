// Randomness and digests.

const digests = { 'SHA-1': 20, 'SHA-256': 32, 'SHA-384': 48, 'SHA-512': 64 };
function digestName(algorithm) {
  const name = `${typeof algorithm === 'object' && algorithm !== null ? algorithm.name : algorithm}`.toUpperCase();
  if (!(name in digests)) throw new DOMException(`${name.slice(0, 50)} is not known; there are ${Object.keys(digests).join(', ')}`, 'NotSupportedError');
  return name;
}

const keys = new WeakMap();
class CryptoKey {
  constructor(kept, usages, extractable) {
    keys.set(this, kept);
    this.type = 'secret';
    this.usages = [...usages];
    this.extractable = extractable;
    this.algorithm = { name: 'HMAC', hash: { name: kept.hash } };
    Object.freeze(this);
  }
}
function keptOf(key, usage) {
  const kept = keys.get(key);
  if (kept === undefined) throw new TypeError('this is no key that importKey made');
  if (!key.usages.includes(usage)) throw new DOMException(`this key is not for ${usage}`, 'InvalidAccessError');
  return kept;
}

const subtle = {
  async digest(algorithm, data) { return native.digest(digestName(algorithm), bufferOf(bytesOf(data, 'digest'))); },
  async importKey(format, data, algorithm, extractable, usages) {
    if (format !== 'raw' || `${algorithm?.name ?? algorithm}`.toUpperCase() !== 'HMAC') throw new DOMException('importKey takes raw keys of HMAC only', 'NotSupportedError');
    return new CryptoKey({ hash: digestName(algorithm.hash), bytes: bytesOf(data, 'importKey').slice() }, usages, !!extractable);
  },
  async sign(algorithm, key, data) {
    const { hash, bytes } = keptOf(key, 'sign');
    return native.hmac(hash, bufferOf(bytes), bufferOf(bytesOf(data, 'sign')));
  },
  async verify(algorithm, key, signature, data) {
    const { hash, bytes } = keptOf(key, 'verify');
    const made = new Uint8Array(native.hmac(hash, bufferOf(bytes), bufferOf(bytesOf(data, 'verify'))));
    const given = bytesOf(signature, 'verify');
    let differs = made.length ^ given.length;
    for (let at = 0; at < made.length; at += 1) differs |= made[at] ^ (given[at] ?? 0);
    return differs === 0;
  },
};

const crypto = {
  subtle,
  getRandomValues(into) {
    const bytes = bytesOf(into, 'getRandomValues');
    if (bytes.length > 65536) throw new DOMException('at most 65536 bytes at once', 'QuotaExceededError');
    bytes.set(new Uint8Array(native.random(bytes.length)));
    return into;
  },
  randomUUID() {
    const bytes = new Uint8Array(native.random(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  },
};
