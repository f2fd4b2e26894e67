// VolumeBinding: how well the volumes that a pod's claims would get on a node fit what was asked for, by a shape in the arguments.
// Only in profiles that give one.

import { checkSettings, integer, optional } from "../kit/base/config-check.ts";
import { chooseVolumes, type PodClaims, podClaims } from "../kit/scheduling/volume-choice.ts";
import { classOf } from "../kit/kube/objects/volume-claims.ts";
import type { Node } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { amountOf } from "../kit/kube/pod-requests.ts";
import { Rejection, type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";
import { pointsByShape, shapeCheck } from "./shape.ts";

const name = "VolumeBinding";

/** For each storage class, how much is asked for and how much the volumes hold. */
function storageOn(node: Node, claims: PodClaims): Iterable<{ used: number; most: number }> {
  const chosen = chooseVolumes(claims, node, () => true);
  const byClass = new Map<string, { used: number; most: number }>();
  if (typeof chosen === "string") return [];
  for (const [index, { claim }] of claims.waiting.entries()) {
    const volume = chosen[index];
    if (!volume) continue;
    const sums = byClass.get(classOf(claim)) ?? { used: 0, most: 0 };
    sums.used += amountOf("storage", claim.spec?.resources?.requests?.storage ?? "0");
    sums.most += amountOf("storage", volume.spec?.capacity?.storage ?? "0");
    byClass.set(classOf(claim), sums);
  }
  return byClass.values();
}

const score: ScorePlugin = {
  name,
  weight: 1,
  prepare: () => skip,
  score: () => 0,
  withArguments(raw, where) {
    const known = { bindTimeoutSeconds: optional(integer({ min: 0 })), shape: optional(shapeCheck) };
    const { shape } = checkSettings(raw, known, where);
    if (!shape) return score;
    const points = pointsByShape(shape);
    return {
      name,
      weight: score.weight,
      prepare(pod, cluster) {
        const claims = podClaims(pod, cluster);
        return claims === skip || claims instanceof Rejection || claims.waiting.length === 0 ? skip : claims;
      },
      score(_pod, { node }, prepared) {
        const worths = [...storageOn(node, prepared as PodClaims)].map(({ used, most }) => points(used, most));
        return worths.length === 0 ? 0 : Math.round(worths.reduce((sum, worth) => sum + worth, 0) / worths.length);
      },
    };
  },
};

export const volumeBindingScore: Plugin<ScorePlugin> = { kind: scoreKind, name, open: () => score };
