// Timers, and what is asked of the gateway.

const timers = new Map();
let lastTimer = 0;

function startTimer(callback, delay, repeats, given) {
  if (typeof callback !== 'function') throw new TypeError('a timer needs a function');
  const ms = Math.min(Math.max(Number(delay) || 0, 0), 2147483647);
  const id = ++lastTimer;
  timers.set(id, { callback, ms, repeats, given });
  native.timer(id, ms);
  return id;
}

function setTimeout(callback, delay, ...given) { return startTimer(callback, delay, false, given); }
function setInterval(callback, delay, ...given) { return startTimer(callback, Math.max(Number(delay) || 0, 1), true, given); }
function clearTimeout(id) { timers.delete(id); }

function fire(id) {
  const timer = timers.get(id);
  if (timer === undefined) return;
  if (timer.repeats) native.timer(id, timer.ms);
  else timers.delete(id);
  timer.callback(...timer.given);
}

const asked = new Map();
let lastAsk = 0;

// Asks the gateway; the answer comes as JSON, perhaps with bytes.
function ask(what, body) {
  return new Promise((resolve, reject) => {
    const id = ++lastAsk;
    asked.set(id, { resolve, reject });
    native.ask(id, JSON.stringify(what), body);
  });
}

function settle(id, isGood, text, body) {
  const waiting = asked.get(id);
  if (waiting === undefined) return;
  asked.delete(id);
  const value = JSON.parse(text);
  if (isGood) waiting.resolve({ value, body });
  else waiting.reject(value.type === 'TypeError' ? new TypeError(value.message) : new Error(value.message));
}

function queueMicrotask(callback) {
  if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
  Promise.resolve().then(callback);
}
