// A terminal in a container, by exec over a WebSocket. A piece of its own: it is loaded when first opened.

import { Terminal } from "@xterm/xterm";
import { bearerProtocol } from "./access.ts";

const command = ["sh", "-c", "command -v bash >/dev/null && exec bash || exec sh"];

export function openTerminal(place: HTMLElement, path: string, onEnd: (why: string) => void): () => void {
  const terminal = new Terminal({ cursorBlink: true, fontSize: 13 });
  terminal.open(place);
  const query = new URLSearchParams({ input: "1", output: "1", tty: "1" });
  for (const word of command) query.append("command", word);
  const url = new URL(`exec/${path}?${query}`, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(url, ["v5.channel.k8s.io", "v4.channel.k8s.io", ...bearerProtocol()]);
  socket.binaryType = "arraybuffer";
  const encoder = new TextEncoder();
  const send = (channel: number, bytes: Uint8Array) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    socket.send(message);
  };
  const fit = () => {
    const screen = place.querySelector(".xterm-screen");
    const width = (screen?.clientWidth ?? 0) / terminal.cols || 8;
    const height = (screen?.clientHeight ?? 0) / terminal.rows || 17;
    const frame = 2 * (Number.parseFloat(getComputedStyle(place).paddingLeft) || 0);
    const cols = Math.max(20, Math.floor((place.clientWidth - frame) / width));
    const rows = Math.max(5, Math.floor((place.clientHeight - frame) / height));
    terminal.resize(cols, rows);
    send(4, encoder.encode(JSON.stringify({ Width: cols, Height: rows })));
  };
  socket.onopen = () => {
    fit();
    terminal.focus();
  };
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const bytes = new Uint8Array(data);
    if (bytes[0] === 1 || bytes[0] === 2) terminal.write(bytes.subarray(1));
    if (bytes[0] === 3) terminal.write("\r\n[the session ended]\r\n");
  };
  socket.onclose = ({ code }) => onEnd(code === 1000 ? "" : "the connection was refused or broke");
  terminal.onData((text) => send(0, encoder.encode(text)));
  // Every key belongs to the shell but this one, so that nobody is caught in here.
  terminal.attachCustomKeyEventHandler((event) => !(event.key === "Tab" && event.shiftKey));
  const watcher = new ResizeObserver(fit);
  watcher.observe(place);
  return () => {
    watcher.disconnect();
    socket.close(1000);
    terminal.dispose();
  };
}
