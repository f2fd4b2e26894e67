// Every built-in plugin, in the order in which plugins of one kind are asked. The composition roots open these lists and the
// user's own plugins behind them. Stores are not here: exactly one is opened, by the name that `--store` gives.

import { admissionPlugins } from "./admission/index.ts";
import { daemons } from "./daemon/index.ts";
import { filters } from "./filter/index.ts";
import type { AnyPlugin } from "./kit/base/plugin.ts";
import { hooks } from "./hook/index.ts";
import { probes } from "./probe/index.ts";
import { scores } from "./score/index.ts";
import { statsSources } from "./stats/index.ts";
import { volumes } from "./volume/index.ts";

/** What a control plane is made of. */
export const controlPlugins: readonly AnyPlugin[] = [...admissionPlugins, ...filters, ...scores];

/** What a node is made of. */
export const nodePlugins: readonly AnyPlugin[] = [...volumes, ...probes, ...hooks, ...statsSources];

/** What a node that belongs to a cluster runs besides: services, names, routes and policies. */
export const networkDaemons = daemons;
