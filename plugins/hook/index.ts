// Every built-in hook, in the order in which they run; clean-up runs in reverse.

import { logLinks } from "./log-links.ts";

export const hooks = [logLinks];
