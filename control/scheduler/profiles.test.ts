import t from "tap";
import { decide } from "./decide.ts";
import { profilesFrom } from "./profiles.ts";
import { availablePlugins, node, pod, snapshot } from "../../test/harness/scheduling.ts";

const available = await availablePlugins();
const first = { startAt: 0, random: () => 0.99 };
const service = { metadata: { namespace: "default", name: "s" }, spec: { selector: { app: "web" } } };

t.test("profilesFrom() makes several profiles with plugins turned on, off and weighed", async (t) => {
  const config = {
    kind: "KubeSchedulerConfiguration",
    profiles: [
      {},
      {
        schedulerName: "packer",
        plugins: {
          filter: { disabled: [{ name: "NodePorts" }] },
          score: { disabled: [{ name: "*" }], enabled: [{ name: "MostAllocated", weight: 7 }] },
        },
      },
    ],
  };
  const [usual, packer] = profilesFrom(config, available, "config");
  t.equal(usual?.schedulerName, "default-scheduler");
  t.ok(usual?.filters.some(({ name }) => name === "NodePorts"));
  t.notOk(packer?.filters.some(({ name }) => name === "NodePorts"));
  t.same(
    packer?.scores.map(({ plugin, weight }) => [plugin.name, weight]),
    [["MostAllocated", 7]],
  );
});

t.test("profilesFrom() says what is wrong and where", async (t) => {
  const broken = (config: unknown) => () => profilesFrom(config, available, "config");
  t.throws(broken({ profile: [] }), /unknown key "profile"; did you mean "profiles"/);
  t.throws(broken({ profiles: [{}, {}] }), /config\.profiles\[1\]: there is a profile of the name/);
  t.throws(
    broken({ profiles: [{ plugins: { filter: { enabled: [{ name: "NodePort" }] } } }] }),
    /no plugin "NodePort" here; did you mean "NodePorts"/,
  );
  t.throws(broken({ kind: "Policy", predicates: [{ name: "Nope" }] }), /predicates\[0\]: there is no predicate "Nope"/);
});

t.test("a policy file with label presence, service affinity and a label preference decides as it says", async (t) => {
  const policy = {
    kind: "Policy",
    apiVersion: "v1",
    predicates: [
      { name: "GeneralPredicates" },
      { name: "Racked", argument: { labelsPresence: { labels: ["rack"], presence: true } } },
      { name: "SameZone", argument: { serviceAffinity: { labels: ["zone"] } } },
    ],
    priorities: [{ name: "Fast", weight: 3, argument: { labelPreference: { label: "ssd", presence: true } } }],
  };
  const [profile] = profilesFrom(policy, available, "policy");
  t.ok(profile);
  if (!profile) return;
  const nodes = [
    node("bare", { ssd: "yes", zone: "a" }),
    node("a-slow", { rack: "1", zone: "a" }),
    node("b-fast", { rack: "1", zone: "b", ssd: "" }),
    node("a-fast", { rack: "2", zone: "a", ssd: "" }),
  ];
  const web = (name: string) => pod(name, {}, { app: "web" });
  const free = decide(web("x"), snapshot(nodes), profile, first);
  t.match("node" in free && free.node.name, "b-fast", "racked and fast, the first among equals");
  const bound = snapshot(nodes, [[web("sibling"), "a-slow"]], { services: [service] });
  const held = decide(web("y"), bound, profile, first);
  t.match("node" in held && held.node.name, "a-fast", "in the zone of its sibling");
  const other = decide(pod("z", {}, { app: "other" }), bound, profile, first);
  t.match("node" in other && other.node.name, "b-fast", "pods of no service are free");
});
