// What the worker calls: a script begins, ends, is told and is given up.

// A value for people, as a console prints it.
function shown(value, depth = 0, seen = []) {
  if (typeof value === 'string') return depth === 0 ? value : JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return `[function ${value.name || 'anonymous'}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error) return toldOf(value).stack ? `${toldOf(value).message}\n${toldOf(value).stack}` : toldOf(value).message;
  if (seen.includes(value)) return '[circle]';
  if (depth >= 4) return Array.isArray(value) ? '[…]' : '{…}';
  const within = [...seen, value];
  if (Array.isArray(value)) return `[${value.slice(0, 100).map((member) => shown(member, depth + 1, within)).join(', ')}${value.length > 100 ? ', …' : ''}]`;
  if (value instanceof Map) return `Map ${shown([...value], depth, within)}`;
  if (value instanceof Set) return `Set ${shown([...value], depth, within)}`;
  if (value instanceof Date || value instanceof URL) return JSON.stringify(value);
  const entries = Object.entries(value).slice(0, 100).map(([key, member]) => `${key}: ${shown(member, depth + 1, within)}`);
  return `{${entries.join(', ')}}`;
}

function printing(level) {
  return (...values) => {
    let text;
    try { text = values.map((value) => shown(value)).join(' '); } catch { text = '[cannot be shown]'; }
    native.tell(JSON.stringify({ console: { level, text: text.slice(0, 16384) } }));
  };
}
const console = { debug: printing('debug'), trace: printing('debug'), log: printing('info'), info: printing('info'), warn: printing('warning'), error: printing('error') };
console.assert = (isSo, ...values) => { if (!isSo) console.error('assertion failed:', ...values); };

const secrets = { async get(name) { return (await ask({ secret: { name: `${name}` } })).value; } };

async function callToolHandler(request, caller) {
  const name = request?.params?.name;
  if (typeof name !== 'string') throw new TypeError('callToolHandler needs {params: {name, arguments}}');
  return (await ask({ tool: { name, arguments: JSON.stringify(request.params.arguments ?? {}), caller: caller === undefined ? null : `${caller}` } })).value;
}

let script = null;
let running = null;

function contextOf(controller) {
  return Object.freeze({
    signal: controller.signal,
    progress(progress, total, message) { native.tell(JSON.stringify({ progress: { progress: Number(progress), total: total == null ? null : Number(total), message: message == null ? null : `${message}` } })); },
    log(level, data) { native.tell(JSON.stringify({ log: { level: `${level}`, data: JSON.stringify(data === undefined ? null : data) } })); },
  });
}

function ended(value) {
  running = null;
  let text;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    return failed(error);
  }
  native.done(text ?? '');
}

function failed(error) {
  running = null;
  native.failed(JSON.stringify(toldOf(error)));
}

const bridge = {
  settle,
  fire,
  // The module of the script has been evaluated: what it exports. Nothing that all calls share can be changed from now on.
  ready(exported) {
    script = { default: exported.default, destroy: exported.destroy };
    let schema = null;
    if (exported.schema !== undefined) schema = JSON.parse(JSON.stringify(exported.schema) ?? 'null');
    freezeShared();
    return JSON.stringify({ schema, hasDefault: typeof script.default === 'function', hasDestroy: typeof script.destroy === 'function' });
  },
  begin(text) {
    const controller = new AbortController();
    running = controller;
    try {
      // What an earlier call left behind must not speak for this one.
      Promise.resolve(script.default(JSON.parse(text), contextOf(controller))).then(
        (value) => { if (running === controller) ended(value); },
        (error) => { if (running === controller) failed(error); },
      );
    } catch (error) {
      failed(error);
    }
  },
  destroy() {
    running = new AbortController();
    try {
      Promise.resolve(script.destroy()).then(ended, failed);
    } catch (error) {
      failed(error);
    }
  },
  abort() { if (running !== null) fireSignal(running.signal, new DOMException('the call was cancelled', 'AbortError')); },
  // The call is over: whatever it left behind does not come back.
  over() { timers.clear(); asked.clear(); },
};
