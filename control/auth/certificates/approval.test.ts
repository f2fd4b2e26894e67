import t from "tap";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import { createKeyPair, createSigningRequest, parseSigningRequest } from "../../../plugins/kit/os/x509.ts";
import { judge } from "./approval.ts";
import { reservedNames } from "./reserved-names.ts";
import type { CertificateSigningRequest } from "./signing.ts";

const reserved = reservedNames({
  servers: () => ({ dnsNames: ["kubernetes", "server.test"], ipAddresses: ["192.0.2.1", "2001:db8::1"] }),
  clusterDomain: "cluster.local",
  cidrs: ["10.43.0.0/16,fd43::/112", "10.42.0.0/16"],
});

t.test("reservedNames() keeps what is taken for the API server, Services or the local machine", async (t) => {
  const names: [string, RegExp | undefined][] = [
    ["pi", undefined],
    ["pi.home.arpa", undefined],
    ["svcs", undefined],
    ["192-0-2-1", undefined],
    ["192.0.2.9", undefined],
    ["", /RFC 1123/],
    ["*", /RFC 1123/],
    ["*.pi", /RFC 1123/],
    ["..%2Fx", /RFC 1123/],
    ["Pi", /RFC 1123/],
    ["a..b", /RFC 1123/],
    ["pi.", /RFC 1123/],
    ["localhost", /local machine/],
    ["a.localhost", /local machine/],
    ["localhost.localdomain", /local machine/],
    ["kubernetes", /API server/],
    ["server.test", /API server/],
    ["svc", /Services/],
    ["web.shop.svc", /Services/],
    ["cluster.local", /Services/],
    ["web.shop.svc.cluster.local", /Services/],
    ["192.0.2.1", /API server/],
    ["10.43.0.1", /network of Services/],
    ["127.0.0.2", /single machine/],
  ];
  for (const [name, expected] of names) {
    const problem = reserved.dnsProblem(name);
    if (expected) t.match(problem, expected, name);
    else t.equal(problem, undefined, name);
  }
  const addresses: [string, RegExp | undefined][] = [
    ["192.0.2.9", undefined],
    ["2001:db8::9", undefined],
    ["192.0.2.1", /API server/],
    ["2001:DB8:0::1", /API server/],
    ["10.43.255.1", /network of Services/],
    ["fd43::a", /network of Services/],
    ["10.42.1.1", /network of Services or pods/],
    ["127.0.0.1", /single machine/],
    ["::1", /single machine/],
    ["0.0.0.0", /single machine/],
    ["169.254.169.254", /single machine/],
    ["fe80::1", /single machine/],
    ["224.0.0.1", /single machine/],
    ["::ffff:192.0.2.9", /IPv4-mapped/],
    ["192.0.2", /not an IP address/],
  ];
  for (const [address, expected] of addresses) {
    const problem = reserved.ipProblem(address);
    if (expected) t.match(problem, expected, address);
    else t.equal(problem, undefined, address);
  }
});

const node = (name: string, addresses: string[]) =>
  ({
    metadata: { name },
    status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
  }) as unknown as Node;
// `liar` reports what is another's: it gets nothing for it, and keeps nobody from their own name.
const nodes = [
  node("pi", ["192.0.2.9", "2001:db8:0:0::9"]),
  node("liar", ["192.0.2.66", "quiet", "fresh"]),
  node("quiet", ["192.0.2.10"]),
  node("fresh", ["192.0.2.11"]),
];
const heardAgo: Record<string, number> = { pi: 10_000, quiet: 120_000, fresh: 5_000 };

interface Asked {
  by: string;
  cn: string;
  dnsNames?: string[];
  ipAddresses?: string[];
  listeningMs?: number;
  signer: "kubelet-serving" | "kube-apiserver-client-kubelet" | "kube-apiserver-client" | "legacy-unknown";
}
const { key } = createKeyPair();

function ask({ by, cn, signer, dnsNames = [], ipAddresses = [], listeningMs = 3_600_000 }: Asked) {
  const request = createSigningRequest({ key, commonName: cn, organizations: ["system:nodes"], dnsNames, ipAddresses });
  const isNode = by.startsWith("system:node:");
  const csr = {
    metadata: { name: "csr" },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: `kubernetes.io/${signer}`,
      usages: ["digital signature", signer === "kubelet-serving" ? "server auth" : "client auth"],
      username: by,
      groups: [isNode ? "system:nodes" : "system:bootstrappers", "system:authenticated"],
    },
  } as unknown as CertificateSigningRequest;
  return judge(csr, parseSigningRequest(request), {
    node: (name) => nodes.find(({ metadata }) => metadata.name === name),
    nodes: () => nodes,
    heardAgoMs: (name) => heardAgo[name],
    listeningMs,
    reserved,
  });
}

const denied = { answer: "deny", reason: "SignerValidationFailure" };
const serving = "kubelet-serving";
const client = "kube-apiserver-client-kubelet";
const token = "system:bootstrap:abcdef";
const pi = "system:node:pi";
const rows: [string, Asked, object][] = [
  [
    "its own name and addresses",
    { by: pi, cn: pi, signer: serving, dnsNames: ["pi"], ipAddresses: ["192.0.2.9", "2001:db8::9"] },
    { answer: "approve" },
  ],
  [
    "its name alone",
    { by: "system:node:quiet", cn: "system:node:quiet", signer: serving, dnsNames: ["quiet"] },
    { answer: "approve" },
  ],
  [
    "an address it does not report yet",
    { by: pi, cn: pi, signer: serving, dnsNames: ["pi"], ipAddresses: ["192.0.2.99"] },
    { answer: "wait" },
  ],
  [
    "a DNS name of its choosing",
    { by: pi, cn: pi, signer: serving, dnsNames: ["pi", "elsewhere.test"] },
    { answer: "wait" },
  ],
  ["another node's address", { by: pi, cn: pi, signer: serving, ipAddresses: ["192.0.2.10"] }, { answer: "wait" }],
  ["another node's name", { by: pi, cn: pi, signer: serving, dnsNames: ["quiet"] }, { answer: "wait" }],
  ["the API server's address", { by: pi, cn: pi, signer: serving, ipAddresses: ["192.0.2.1"] }, { answer: "wait" }],
  ["the API server's name", { by: pi, cn: pi, signer: serving, dnsNames: ["kubernetes"] }, denied],
  ["an address of Services", { by: pi, cn: pi, signer: serving, ipAddresses: ["10.43.0.1"] }, denied],
  [
    "a certificate that another asks for",
    { by: "system:node:liar", cn: pi, signer: serving, dnsNames: ["pi"] },
    { answer: "not-mine" },
  ],
  [
    "its next client certificate",
    { by: pi, cn: pi, signer: client },
    { answer: "approve-if-may", subresource: "selfnodeclient" },
  ],
  [
    "to join by token",
    { by: token, cn: "system:node:new", signer: client },
    { answer: "approve-if-may", subresource: "nodeclient", tokenId: "abcdef" },
  ],
  [
    "to join as a node that is alive",
    { by: token, cn: pi, signer: client },
    { answer: "deny", reason: "NodeNameTaken" },
  ],
  [
    "to join as a node that is just being made",
    { by: token, cn: "system:node:fresh", signer: client },
    { answer: "deny", reason: "NodeNameTaken" },
  ],
  [
    "to join as a node that is long gone",
    { by: token, cn: "system:node:quiet", signer: client },
    { answer: "approve-if-may" },
  ],
  [
    "to join as a node that could not be heard yet",
    { by: token, cn: "system:node:liar", signer: client, listeningMs: 39_000 },
    { answer: "wait" },
  ],
  [
    "to join as a node that was not heard",
    { by: token, cn: "system:node:liar", signer: client, listeningMs: 40_000 },
    { answer: "approve-if-may" },
  ],
  [
    "to join by a new name, right after the start",
    { by: token, cn: "system:node:new", signer: client, listeningMs: 0 },
    { answer: "approve-if-may" },
  ],
  [
    "to join as the API server",
    { by: token, cn: "system:node:server.test", signer: client },
    { answer: "deny", reason: "NodeNameReserved" },
  ],
  [
    "to join under no node name",
    { by: token, cn: "system:node:..%2Fx", signer: client },
    { answer: "deny", reason: "SignerValidationFailure" },
  ],
  ["a person's certificate", { by: "jane", cn: "jane", signer: "kube-apiserver-client" }, { answer: "not-mine" }],
  ["a signer that is not served", { by: "jane", cn: "jane", signer: "legacy-unknown" }, { answer: "not-mine" }],
];
for (const [name, asked, expected] of rows) t.test(`judge(): ${name}`, async (t) => void t.match(ask(asked), expected));
