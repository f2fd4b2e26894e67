// What control planes of tests have in common, whatever else is asked of them.

import { systemClock as clock } from "../../plugins/kit/base/clock.ts";
import { noLog as log } from "../../plugins/kit/base/log.ts";

export const controlSettings = {
  clock,
  log,
  serving: { dnsNames: [], ipAddresses: [] },
  clusterCidrs: ["10.42.0.0/16"],
  serviceCidr: "10.43.0.0/16",
  clusterDomain: "cluster.local",
};
