// A guest library for tests: the kernel as it is, under one name.
kernel.define("host", kernel.primordials.freeze({
  call: kernel.call,
  notify: kernel.notify,
  setTimer: kernel.setTimer,
  clearTimer: kernel.clearTimer,
}));
kernel.onStart((settings) => kernel.define("settings", settings));
