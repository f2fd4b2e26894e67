import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";

t.test(
  "clusterRoleAggregationController() holds the rules of the roles that are selected, as they come and go",
  async (t) => {
    const room = await controllerRoom(t, ["clusterrole-aggregation-controller"]);
    const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
    const role = (name: string, labels: Record<string, string>, resource: string) =>
      room.create(resources.clusterroles, { metadata: { name, labels }, rules: [rule(resource)] });
    await room.create(resources.clusterroles, {
      metadata: { name: "sum" },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] },
      rules: [rule("nothing")],
    });
    await role("a", { part: "yes" }, "pods");
    await role("b", { part: "no" }, "secrets");
    const rules = (wanted: string[]) =>
      room.until(
        resources.clusterroles,
        "sum",
        (one) =>
          JSON.stringify(one.rules.map(({ resources: [name] }: { resources: string[] }) => name)) ===
          JSON.stringify(wanted),
      );
    await rules(["pods"]);
    await room.patch(resources.clusterroles, "b", { metadata: { labels: { part: "yes" } } });
    await rules(["pods", "secrets"]);
    await room.delete(resources.clusterroles, "a");
    t.ok(await rules(["secrets"]));
  },
);
