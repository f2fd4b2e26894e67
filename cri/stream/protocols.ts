// The names and numbers of Kubernetes' streaming protocols, and which of them two sides agree on.

/** Channels of exec and attach over WebSocket; over SPDY the same by name, in the `streamType` header. */
export const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export type ChannelName = Exclude<keyof typeof channel, "close">;

/** How the outcome is told: a Status object since v4, only a failure's text before. */
export interface CommandProtocol {
  readonly name: string;
  readonly hasStatus: boolean;
  readonly hasResize: boolean;
  /** Only v5 over WebSocket can say that stdin has ended; SPDY always can. */
  readonly hasClose: boolean;
  readonly isBase64: boolean;
}

const command = (name: string, traits: Partial<CommandProtocol> = {}): CommandProtocol => ({
  name,
  hasStatus: true,
  hasResize: true,
  hasClose: false,
  isBase64: false,
  ...traits,
});

export const webSocketProtocols: readonly CommandProtocol[] = [
  command("v5.channel.k8s.io", { hasClose: true }),
  command("v5.base64.channel.k8s.io", { hasClose: true, isBase64: true }),
  command("v4.channel.k8s.io"),
  command("v4.base64.channel.k8s.io", { isBase64: true }),
  command("channel.k8s.io", { hasStatus: false }),
  command("base64.channel.k8s.io", { hasStatus: false, isBase64: true }),
  // What a client gets that asks for nothing.
  command("", { hasStatus: false }),
];

export const spdyProtocols: readonly CommandProtocol[] = [
  command("v4.channel.k8s.io"),
  command("v3.channel.k8s.io", { hasStatus: false }),
  command("v2.channel.k8s.io", { hasStatus: false, hasResize: false }),
  command("channel.k8s.io", { hasStatus: false, hasResize: false }),
];

export const portForwardProtocol = "portforward.k8s.io";
/** A whole SPDY connection inside binary WebSocket messages. */
export const portForwardTunnelProtocol = "SPDY/3.1+portforward.k8s.io";

/** The comma-separated names of a header that may also be repeated. */
export function namesIn(header: string | readonly string[] | undefined): string[] {
  const text = typeof header === "string" ? header : (header ?? []).join(",");
  return text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}

/** The first of the client's names that is known here. A client without any takes `fallback`. */
export function negotiate<T extends { readonly name: string }>(
  offered: readonly string[],
  known: readonly T[],
  fallback: string,
): T | undefined {
  const names = offered.length > 0 ? offered : [fallback];
  for (const name of names) {
    const found = known.find((protocol) => protocol.name === name);
    if (found) return found;
  }
  return undefined;
}
