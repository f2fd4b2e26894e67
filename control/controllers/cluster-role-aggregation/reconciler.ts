// An aggregated cluster role always holds the rules of every role that its selectors match.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import { aggregatedRules } from "../../auth/rbac/aggregation.ts";
import type { ClusterRole, LabelSelector } from "../../auth/rbac/objects.ts";
import type { ControllerFactory } from "../../manager/contract.ts";

const matches = (selector: LabelSelector, labels: Record<string, string> | undefined) =>
  labelSelectorOf(selector).matches(labels);

export const clusterRoleAggregationController: ControllerFactory = ({ client, informers }) => {
  const roles = informers.for<ClusterRole>(resources.clusterroles);
  const aggregating = () => roles.list().filter((role) => role.aggregationRule?.clusterRoleSelectors?.length);
  return {
    name: "cluster-role-aggregation",
    // A change of any role, its labels before and after included, may concern every role that aggregates.
    wakes: [{ resource: resources.clusterroles, keys: () => aggregating().map((role) => role.metadata.name ?? "") }],
    async reconcile(name, call) {
      const role = roles.get("", name);
      const rules = role && aggregatedRules(role, roles.list(), matches);
      if (!role || !rules) return undefined;
      try {
        await client.update(resources.clusterroles, { ...role, rules }, call);
      } catch (error) {
        // Changed or gone meanwhile: that change wakes us again.
        if (!isFault(error, "conflict", "not-found")) throw error;
      }
      return undefined;
    },
  };
};
