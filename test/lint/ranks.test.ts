// The folders of a room stand in an order, lowest first: a folder imports, by value or by type, only folders below it. Run
// alone, it prints the graph.

import t from "tap";
import { importsOf } from "../harness/imports.ts";
import { sourceFiles } from "../harness/source-files.ts";

type Rank = readonly [folder: string, why: string];

const rooms: Readonly<Record<string, readonly (Rank | readonly Rank[])[]>> = {
  agent: [
    ["host", "reads the machine below: /proc, logind"],
    ["model", "what pods and containers are; pure"],
    ["runtime", "CRI calls with deadlines and metrics"],
    ["config", "the kubelet's configuration"],
    ["containers", "pod spec to CRI requests, and the files of containers"],
    ["sources", "owns the desired pods"],
    ["node", "owns the Node object and its lease"],
    ["volumes", "owns mounts"],
    ["pleg", "owns the observed pods"],
    ["probes", "owns probe results"],
    ["plugin-sockets", "owns the sockets of registered plugins"],
    ["images", "owns images and their back-off"],
    ["resources", "owns cgroups, admission and eviction; evicts by what those below know"],
    ["status", "computes PodStatus, its only writer"],
    ["pods", "one worker per pod: plan and executors"],
    // Stats are served by the server, whose page shows them: value imports go one way.
    [
      ["server", "the kubelet's HTTP API and page; reads"],
      ["stats", "summary and cAdvisor views; reads"],
    ],
    ["check", "the doctor; reads"],
    ["join", "credentials of the node"],
    ["assemble", "the composition root"],
  ],
  control: [
    ["machinery", "requests, answers, errors, equality; knows no kind"],
    ["storage", "objects on a store"],
    ["resources", "one definition per kind"],
    ["auth", "who is it, and may they"],
    ["admission", "runs admission plugins"],
    ["api", "the request path"],
    ["manager", "informers, queues, the leader's lease"],
    ["controllers", "one folder per controller"],
    ["scheduler", "filter, score, bind"],
    ["snapshots", "backups of the store"],
    ["bootstrap", "objects that every cluster starts with"],
    ["cli", "status, logs and exec without kubectl"],
    ["assemble", "the composition root"],
  ],
  "plugins/kit": [
    ["base", "errors, calls, clock, queue, settings: no Kubernetes, no operating system"],
    ["os", "the machine and the runtime: files, processes, sockets, kernel, certificates"],
    ["kube", "objects, quantities, selectors, patches, CEL, client, informers"],
    ["contracts", "one file per thing that can be plugged"],
    ["quota", "what quotas count, for admission and the controller"],
    ["scheduling", "what filters and scores have in common"],
    ["mod.ts", "the front door for the authors of plugins"],
  ],
};

const isSingle = (entry: Rank | readonly Rank[]): entry is Rank => typeof entry[0] === "string";

function ranksOf(room: string): Map<string, number> {
  const entries = (rooms[room] ?? []).map((entry) => (isSingle(entry) ? [entry] : entry));
  return new Map(entries.flatMap((peers, rank) => peers.map(([folder]) => [folder, rank] as const)));
}

const sources = sourceFiles().filter((file) => !/^test\/|\.test\.tsx?$/.test(file));

/** The room and the folder in it that a file lies in. */
function placeOf(file: string): { room: string; folder: string } | undefined {
  const room = Object.keys(rooms).find((each) => file.startsWith(`${each}/`));
  return room === undefined ? undefined : { room, folder: file.slice(room.length + 1).split("/")[0] ?? "" };
}

for (const room of Object.keys(rooms)) {
  t.test(`${room}: no folder imports one above it`, async (t) => {
    const ranks = ranksOf(room);
    const wrong: string[] = [];
    const graph = new Map<string, Set<string>>();
    for (const file of sources.filter((path) => path.startsWith(`${room}/`))) {
      const own = placeOf(file)?.folder ?? "";
      const rank = ranks.get(own);
      if (rank === undefined) {
        wrong.push(`${file}: ${room}/${own} has no rank; give it one with its reason in test/lint/ranks.test.ts`);
        continue;
      }
      for (const { target } of importsOf(file)) {
        const place = placeOf(target);
        if (!place || place.room !== room || place.folder === own) continue;
        const other = place.folder;
        graph.set(own, (graph.get(own) ?? new Set()).add(other));
        const below = ranks.get(other) ?? Infinity;
        if (below > rank) wrong.push(`${file} imports ${target}: ${room}/${other} is above ${room}/${own}`);
      }
    }
    for (const [folder, rank] of ranks)
      t.comment(`${rank} ${room}/${folder} -> ${[...(graph.get(folder) ?? [])].sort().join(" ") || "-"}`);
    t.same(wrong, []);
    const used = new Set(sources.map(placeOf).map((place) => `${place?.room}/${place?.folder}`));
    t.same(
      [...ranks.keys()].filter((folder) => !used.has(`${room}/${folder}`)),
      [],
    );
  });
}

t.test("values are imported in no cycle, neither of files nor of a room's folders", async (t) => {
  const files = new Map<string, string[]>();
  const folders = new Map<string, string[]>();
  for (const file of sources) {
    const targets = importsOf(file).flatMap(({ target, isType }) => (isType ? [] : [target]));
    files.set(file, targets);
    const own = folderOf(file);
    const [room = ""] = own.split("/");
    if (rooms[room])
      folders.set(own, [...(folders.get(own) ?? []), ...targets.map(folderOf).filter((at) => at !== own)]);
  }
  t.same(cyclesOf(files), []);
  t.same(cyclesOf(folders), []);
});

/** Where folders are ranked, the folder; the file itself elsewhere. */
function folderOf(file: string): string {
  const place = placeOf(file);
  return place ? `${place.room}/${place.folder}` : file;
}

/** The first cycle through each node that is in one. */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): void => {
    const at = path.indexOf(node);
    if (at >= 0) found.push([...path.slice(at), node].join(" -> "));
    if (at >= 0 || done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return found;
}
