// The path items of subresources that are no part of an object: what is created below it, and connections to it.

import { groupVersion, type ResourceDefinition } from "../../resources/definition.ts";
import { answers, body, inPath, type Json, query, refTo } from "./item-parts.ts";
import { type Operation, operationOf, tagOf } from "./operation.ts";
import { dryRun, fieldManager, fieldValidation, pretty } from "./path-items.ts";

const container = query("container", "string", "Which container; the only one when there is but one.");
const path = query("path", "string", "What to ask for behind the proxy.");
const flag = (name: string, description: string) => query(name, "boolean", description);
const streams = [
  container,
  flag("stderr", "Show what goes to standard error."),
  flag("stdin", "Send to standard input."),
  flag("stdout", "Show what goes to standard output."),
  flag("tty", "Give it a terminal."),
];
const log = [
  container,
  flag("follow", "Go on as more is written."),
  flag("insecureSkipTLSVerifyBackend", "Do not check the certificate of the kubelet."),
  query("limitBytes", "integer", "At most so much."),
  pretty,
  flag("previous", "Of the container before this one."),
  query("sinceSeconds", "integer", "Of the last so many seconds."),
  query("stream", "string", "Of which stream: All, Stdout or Stderr."),
  query("tailLines", "integer", "So many lines from the end."),
  flag("timestamps", "Begin each line with its time."),
];

const upgrades = ["get", "post"];
const everyMethod = ["delete", "get", "head", "options", "patch", "post", "put"];

interface Connection {
  readonly methods: readonly string[];
  readonly kind: string;
  readonly parameters: readonly Json[];
}

const proxy = (kind: string): Record<string, Connection> => ({
  proxy: { methods: everyMethod, kind, parameters: [path] },
  "proxy/{path}": { methods: everyMethod, kind, parameters: [inPath("path", "What to ask for."), path] },
});

/** By plural of the core group. */
const connections: Readonly<Record<string, Readonly<Record<string, Connection>>>> = {
  pods: {
    attach: { methods: upgrades, kind: "PodAttachOptions", parameters: streams },
    exec: {
      methods: upgrades,
      kind: "PodExecOptions",
      parameters: [query("command", "string", "The program and its arguments."), ...streams],
    },
    portforward: {
      methods: upgrades,
      kind: "PodPortForwardOptions",
      parameters: [query("ports", "integer", "The ports to forward; needed for WebSockets.")],
    },
    ...proxy("PodProxyOptions"),
  },
  services: proxy("ServiceProxyOptions"),
  nodes: proxy("NodeProxyOptions"),
};

interface Created {
  readonly shows: NonNullable<Operation["shows"]>;
  readonly schema: string;
}

const created: Readonly<Record<string, Readonly<Record<string, Created>>>> = {
  pods: {
    binding: { shows: { group: "", version: "v1", kind: "Binding" }, schema: "io.k8s.api.core.v1.Binding" },
    eviction: {
      shows: { group: "policy", version: "v1", kind: "Eviction" },
      schema: "io.k8s.api.policy.v1.Eviction",
    },
  },
  serviceaccounts: {
    token: {
      shows: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
      schema: "io.k8s.api.authentication.v1.TokenRequest",
    },
  },
};

/** The schemas that `subresourceItems` names beside the resource's own. */
export function subresourceSchemas({ group, plural }: ResourceDefinition): string[] {
  return group === "" ? Object.values(created[plural] ?? {}).map(({ schema }) => schema) : [];
}

export function subresourceItems(definition: ResourceDefinition): Record<string, Json> {
  const { group, version, plural, namespaced, kind } = definition;
  if (group !== "") return {};
  const one = `/api/${version}${namespaced ? "/namespaces/{namespace}" : ""}/${plural}/{name}`;
  const make = operationOf(definition);
  const named = [
    inPath("name", `The name of the ${kind}.`),
    ...(namespaced ? [inPath("namespace", "The namespace of the object.")] : []),
  ];
  const items: Record<string, Json> = {};
  for (const [part, { shows, schema }] of Object.entries(created[plural] ?? {}))
    items[`${one}/${part}`] = {
      parameters: [dryRun, fieldManager, fieldValidation, ...named, pretty],
      post: {
        ...make({
          verb: "create",
          part,
          shows,
          responses: answers(refTo(schema), "200", "201", "202"),
          parameters: [],
        }),
        requestBody: body(schema, ["*/*"]),
      },
    };
  for (const [part, connection] of Object.entries(connections[plural] ?? {}))
    items[`${one}/${part}`] = connectionItem(part, connection, make, named);
  if (plural === "pods") {
    const text = { "200": { description: "OK", content: { "text/plain": { schema: { type: "string" } } } } };
    const get = make({ verb: "get", part: "log", responses: text, parameters: [] });
    items[`${one}/log`] = { parameters: [...log, ...named], get };
  }
  return items;
}

function connectionItem(
  part: string,
  connection: Connection,
  make: (operation: Operation) => Json,
  named: Json[],
): Json {
  const item: Json = { parameters: [...named, ...connection.parameters] };
  const responses = { "200": { description: "OK", content: { "*/*": { schema: { type: "string" } } } } };
  for (const method of connection.methods)
    item[method] = make({
      verb: "connect",
      method: `${method.charAt(0).toUpperCase()}${method.slice(1)}`,
      part: part === "proxy/{path}" ? "proxyWithPath" : part,
      shows: { group: "", version: "v1", kind: connection.kind },
      responses,
      parameters: [],
    });
  return item;
}

/** What lists the resources of a group and version. */
export function resourcesItem(definition: ResourceDefinition): Record<string, Json> {
  const tag = tagOf(definition);
  const home = tag.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
  const base = definition.group === "" ? `/api/${definition.version}` : `/apis/${groupVersion(definition)}`;
  return {
    [`${base}/`]: {
      get: {
        tags: [tag],
        description: "get available resources",
        operationId: `get${home}APIResources`,
        responses: answers(refTo("io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList"), "200"),
      },
    },
  };
}
