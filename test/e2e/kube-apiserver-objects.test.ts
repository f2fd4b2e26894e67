// Every built-in kind on our API server and on the real kube-apiserver: a valid object must come back the same from both, and each of its
// altered forms must be taken by both or refused by both. Needs kube-apiserver and etcd on PATH.

import { join } from "node:path";
import t from "tap";
import { loadSchemas } from "../../control/api/schema/schemas.ts";
import { validObjects } from "../fixtures/objects/index.ts";
import { isMeant, meantBody, placeOf } from "../fixtures/objects/meant-to-differ.ts";
import { notYetAlike } from "../fixtures/objects/not-yet-alike.ts";
import { alterations } from "../harness/altered.ts";
import { noKubeApiserver } from "../harness/kube-apiserver.ts";
import { type Answer, startPeerApis } from "../harness/peer-apis.ts";
import { differences, essence } from "../harness/same-answer.ts";

t.setTimeout(900_000);
const schemas = loadSchemas(join(import.meta.dirname, "../../.generated/openapi"));
const atOnce = 8;

/** The real server falls over some objects, and ends the connection. */
const hasFallen = ({ status, body }: Answer): boolean => status === 503 && /hang up/.test(String(body));

t.test(
  "objects fare alike on our API server and on kube-apiserver",
  { skip: noKubeApiserver || (schemas ? false : "no schemas: run the set-up"), timeout: 900_000 },
  async (t) => {
    if (!schemas) return;
    const apis = await startPeerApis(t);
    let asked = 0;
    let alike = 0;
    const stillDiffering = new Set<string>();
    for (const { name, path, object } of validObjects) {
      const place = `${path}?dryRun=All`;
      const [ours, theirs] = await apis.both("POST", place, object);
      const found = differences(meantBody(essence(ours), object), meantBody(essence(theirs), object));
      t.same(found, [], `${name}: comes back the same`);
      const [group = "", version = ""] = object.apiVersion.includes("/")
        ? object.apiVersion.split("/")
        : ["", object.apiVersion];
      const root = schemas.root(group, version, object.kind);
      if (!root) {
        t.fail(`${name}: has no schema`);
        continue;
      }
      const all = alterations(object, root, schemas);
      const wrong: string[] = [];
      const work = async () => {
        for (const { what, object: altered } of all) {
          const [mine, real] = await apis.both("POST", place, altered);
          if (hasFallen(real)) continue;
          asked++;
          if (differences(essence(mine), essence(real)).length === 0) alike++;
          if (mine.status === real.status || isMeant(what)) continue;
          const where = placeOf(object.kind, what);
          if (notYetAlike.has(where)) stillDiffering.add(where);
          else wrong.push(`${where}: ${what.slice(0, 200)}: ${mine.status}, kube-apiserver says ${real.status}`);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      t.same(wrong, [], `${name}: what is altered is taken by both or by neither`);
    }
    t.comment(`${alike} of ${asked} answers to altered objects are the same in every word and field`);
    t.same(
      [...notYetAlike].filter((where) => !stillDiffering.has(where)),
      [],
      "what is alike by now leaves the list",
    );
  },
);
