// An authorization webhook for tests: records every SubjectAccessReview and answers by a policy that the test sets.

import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Owner } from "./etcd.ts";

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface Selector {
  readonly rawSelector?: string;
  readonly requirements?: readonly Requirement[];
}

interface ReviewSpec {
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes?: Readonly<Record<string, string | undefined>> & {
    readonly fieldSelector?: Selector;
    readonly labelSelector?: Selector;
  };
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string };
}

export interface AuthorizationWebhook {
  readonly url: string;
  /** How many of the questions from now on are answered by yes; all others by no. */
  allow(count: number): void;
  /** The attributes asked for since the last call, in order, each as one line. */
  taken(): string[];
}

/** `tester` is the user whose name is left out of the lines. */
export async function startAuthorizationWebhook(t: Owner, tester: string): Promise<AuthorizationWebhook> {
  let asked: string[] = [];
  let left = 0;
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const { apiVersion, kind, spec } = JSON.parse(text) as { apiVersion: string; kind: string; spec: ReviewSpec };
      asked.push(attributesLine(spec, tester));
      const answer = JSON.stringify({ apiVersion, kind, spec, status: { allowed: left-- > 0 } });
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
      response.end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/authorize`,
    allow: (count) => (left = count),
    taken() {
      const taken = asked;
      asked = [];
      return taken;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** `list v1/pods in team fields metadata.name In [there]`, `get /healthz`; `""` stands for an empty verb. */
function attributesLine(spec: ReviewSpec, tester: string): string {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  const words: string[] = [];
  if (resource) {
    const { verb, group, version, resource: plural, subresource, name, namespace } = resource;
    // Users and groups to impersonate have a version or none, depending on a feature gate.
    const shown = verb === "impersonate" ? "" : `${version ?? ""}/`;
    words.push(
      verb || '""',
      `${group ? `${group}/` : ""}${shown}${plural ?? ""}${subresource ? `/${subresource}` : ""}`,
    );
    if (name) words.push(quoted(name));
    if (namespace) words.push(`in ${quoted(namespace)}`);
    if (resource.fieldSelector) words.push(`fields ${selectorText(resource.fieldSelector)}`);
    if (resource.labelSelector) words.push(`labels ${selectorText(resource.labelSelector)}`);
  } else words.push(path?.verb || '""', path?.path ?? "");
  if (spec.user !== tester) words.push(`as ${userText(spec)}`);
  return words.join(" ");
}

const quoted = (text: string) => (/^[\w.:-]+$/.test(text) ? text : JSON.stringify(text));

function selectorText({ rawSelector, requirements }: Selector): string {
  if (requirements === undefined) return `raw ${JSON.stringify(rawSelector)}`;
  return requirements
    .map(({ key, operator, values = [] }) => `${key} ${operator} [${[...values].sort().join(" ")}]`)
    .join(", ");
}

function userText({ user, uid, groups = [], extra = {} }: ReviewSpec): string {
  const more = Object.entries(extra)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, values]) => `${key}=${values.join("|")}`);
  return JSON.stringify([user, ...(uid ? [`uid ${uid}`] : []), ...groups, ...more]);
}
