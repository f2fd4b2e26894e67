// Every built-in daemon of the node, in the order they are started.

import { dns } from "./dns/plugin.ts";
import { networkPolicy } from "./network-policy/plugin.ts";
import { overlay } from "./overlay/plugin.ts";
import { serviceProxy } from "./service-proxy/plugin.ts";

export const daemons = [overlay, serviceProxy, dns, networkPolicy];
