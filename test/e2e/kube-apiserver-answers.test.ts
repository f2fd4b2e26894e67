// What is asked beside new objects, on our API server and on the real kube-apiserver: discovery, tables, parts of objects, patches,
// deletions, lists and bodies that cannot be read. What differs stands in fixtures/answers.ts with the reason. Needs kube-apiserver and
// etcd on PATH.

import t from "tap";
import { acceptable, bodies, explained, listed, patches, paths, reviews } from "../fixtures/answers.ts";
import { validObjects } from "../fixtures/objects/index.ts";
import type { Json } from "../fixtures/objects/valid-object.ts";
import { noKubeApiserver } from "../harness/kube-apiserver.ts";
import { startPeerApis } from "../harness/peer-apis.ts";
import { differences, essence } from "../harness/same-answer.ts";

t.setTimeout(900_000);

const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const metadataOnly = { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" };
const aggregated = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };

/** Without what no two servers have in common: hashes, addresses, ages, descriptions of columns. */
function tidy(value: Json): Json {
  // Resizing in place is behind a gate that is closed in a stock v1.32.
  if (Array.isArray(value))
    return value.filter((one) => one?.name !== "pods/resize" && one?.subresource !== "resize").map(tidy);
  if (typeof value === "string")
    return value
      .replace(/^\d+(s|m(\d+s)?)$/, "an age")
      .replaceAll(/[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}/g, "a uid")
      .replace(/in record \(\d+\)/, "in record (a version)");
  if (typeof value !== "object" || value === null) return value;
  const { storageVersionHash: _hash, serverAddress: _address, ...rest } = value;
  if (rest.cells) delete rest.object;
  else if (rest.priority !== undefined && rest.type !== undefined) delete rest.description;
  return Object.fromEntries(Object.entries(rest).map(([name, below]): [string, Json] => [name, tidy(below as Json)]));
}

t.test(
  "answers are alike on our API server and on kube-apiserver",
  { skip: noKubeApiserver, timeout: 900_000 },
  async (t) => {
    const apis = await startPeerApis(t);
    let asked = 0;
    let alike = 0;
    const wrong: string[] = [];
    const used = new Set<RegExp>();
    const ask = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
      const [ours, theirs] = await apis.both(method, path, body, headers);
      const [mine, real] = [ours, theirs].map((answer) =>
        tidy({ ...essence(answer), type: answer.headers.get("content-type") }),
      );
      asked++;
      const found = differences(mine, real);
      if (found.length === 0) alike++;
      const shown = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
      const place = `${method} ${path} ${Object.values(headers ?? {}).join(" ")} ${shown}`;
      const left = found.filter((line) => {
        const reason = explained.find(([where]) => where.test(`${place} ${line}`));
        if (reason) used.add(reason[0]);
        return !reason;
      });
      if (left.length > 0) wrong.push(`${place.slice(0, 200)}\n    ${left.slice(0, 4).join("\n    ").slice(0, 800)}`);
    };
    for (const root of ["/api", "/apis"]) {
      await ask("GET", root, undefined, aggregated);
      await ask("GET", root);
    }
    const { body: groups } = await apis.theirs.ask("GET", "/apis");
    for (const { name, versions } of groups.groups) {
      await ask("GET", `/apis/${name}`);
      for (const { groupVersion } of versions) await ask("GET", `/apis/${groupVersion}`);
    }
    for (const path of paths) await ask("GET", path);
    for (const { path, spec } of reviews) await ask("POST", path, { spec });
    const made: { path: string; object: Json }[] = [];
    for (const { path, object } of validObjects) {
      if (object.kind.endsWith("Review")) continue;
      const both = await apis.both("POST", path, object);
      if (both.every(({ status }) => status === 201)) made.push({ path, object });
    }
    for (const { path, object } of made) {
      const at = `${path}/${object.metadata.name}`;
      for (const headers of [{}, table, metadataOnly]) await ask("GET", at, undefined, headers);
      for (const part of [
        "status",
        "scale",
        "none",
        "approval",
        "ephemeralcontainers",
        "token",
        "finalize",
        "eviction",
      ])
        await ask("GET", `${at}/${part}`);
      const { metadata } = object;
      for (const changed of [
        { metadata: { ...metadata, name: "other" } },
        { metadata: { ...metadata, resourceVersion: "1" } },
        { kind: "None" },
        { apiVersion: "none/v1" },
      ])
        await ask("PUT", `${at}?dryRun=All`, { ...object, ...changed });
      await ask("POST", path, object);
      await ask("DELETE", at, { preconditions: { resourceVersion: "1" } });
      for (const [type, all] of Object.entries(patches))
        for (const patch of all)
          await ask(
            "PATCH",
            `${at}?dryRun=All&fieldManager=m`,
            typeof patch === "string" ? patch : JSON.stringify(patch),
            {
              "content-type": type,
            },
          );
    }
    for (const path of new Set(made.map((one) => one.path))) {
      await ask("GET", `${path}/none`);
      await ask("DELETE", `${path}/none`);
      await ask("DELETE", `${path}/none`, { propagationPolicy: "None" });
      await ask("DELETE", `${path}/none?propagationPolicy=Orphan&gracePeriodSeconds=x`);
      await ask("PATCH", `${path}/none`, "{}", { "content-type": "application/merge-patch+json" });
      for (const query of listed) await ask("GET", `${path}?${query}`);
      for (const accept of acceptable) await ask("GET", `${path}/none`, undefined, { accept });
      for (const body of bodies)
        for (const how of ["Strict", "Warn", "Ignore"])
          await ask("POST", `${path}?dryRun=All&fieldValidation=${how}`, body, { "content-type": "application/json" });
      await ask("POST", `${path}?dryRun=None`, "{}");
      await ask("POST", `${path}?fieldValidation=None`, "{}");
      await ask("POST", path, "{}", { "content-type": "text/plain" });
      await ask("POST", `${path}/none`, "{}");
    }
    t.same(wrong, [], "what differs is explained");
    t.comment(`${alike} of ${asked} answers are the same in every word and field`);
    t.same(
      explained.filter(([where]) => !used.has(where)).map(([, why]) => why),
      [],
      "what is alike by now is no longer explained",
    );
  },
);
