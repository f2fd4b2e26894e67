// The line that a node holds open to its server, so that the server can reach the node's kubelet where it could not connect by itself
// (behind NAT, a firewall, a changing address). What both ends must agree on:
//
// The node asks `GET /skiff/v1/node-line` to become `skiff-node-line/1`, with its own client certificate, and leaves it open. The server
// writes `dial <id>` on a line of its own for each connection that it wants; the node then asks for `/skiff/v1/node-line/<id>` in the same way
// and joins that stream with its kubelet's port. TLS between server and kubelet runs inside, so the kubelet sees who speaks as ever.
// Either end sends an empty line now and then; an end that has heard nothing for a while hangs up.

export const nodeLinePath = "/skiff/v1/node-line";
export const nodeLineProtocol = "skiff-node-line/1";
/** How often an end speaks, and how long it listens for the other. */
export const nodeLineBeatMs = 20_000;
export const nodeLineSilenceMs = 65_000;

export const dialMessage = (id: string): string => `dial ${id}\n`;
export const failedMessage = (id: string): string => `failed ${id}\n`;

/** What a line says, or undefined where it is a sign of life alone. */
export function parseMessage(line: string): { readonly say: "dial" | "failed"; readonly id: string } | undefined {
  const match = /^(dial|failed) ([0-9a-f]{32})$/.exec(line);
  return match ? { say: match[1] as "dial" | "failed", id: match[2] ?? "" } : undefined;
}

/** Splits a stream of text into lines; the longest message is far below the bound. */
export function lineSplitter(onLine: (line: string) => void): (chunk: Buffer) => void {
  let held = "";
  return (chunk) => {
    const lines = (held + chunk.toString("latin1")).split("\n");
    held = (lines.pop() ?? "").slice(-256);
    for (const line of lines) onLine(line);
  };
}
