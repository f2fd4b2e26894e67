// RequestedToCapacityRatio: how full a node should be is drawn as a shape in the arguments. Only in profiles that give one.

import { checkSettings } from "../kit/base/config-check.ts";
import { podWeight } from "../kit/kube/pod-requests.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";
import { type Counted, countedFor, resourceList } from "./allocated.ts";
import { pointsByShape, shapeCheck } from "./shape.ts";

const name = "RequestedToCapacityRatio";

const score: ScorePlugin = {
  name,
  weight: 1,
  needsArguments: true,
  prepare: () => skip,
  score: () => 0,
  withArguments(raw, where) {
    const { resources, shape } = checkSettings(raw, { resources: resourceList(), shape: shapeCheck }, where);
    const points = pointsByShape(shape);
    return {
      name,
      weight: score.weight,
      prepare: (pod) => countedFor(resources, podWeight(pod)),
      score(_pod, { allocatable, weight: taken }, prepared) {
        let sum = 0;
        let weights = 0;
        for (const { name: resource, weight, own } of prepared as Counted[]) {
          const most = allocatable.get(resource);
          const worth = most ? points((taken.get(resource) ?? 0) + own, most) : 0;
          // What is worth nothing does not weigh either.
          if (worth === 0) continue;
          sum += worth * weight;
          weights += weight;
        }
        return weights === 0 ? 0 : Math.round(sum / weights);
      },
    };
  },
};

export const requestedToCapacityRatio: Plugin<ScorePlugin> = { kind: scoreKind, name, open: () => score };
