// Where the program lies: the folder with package.json, whether it runs from source or from a bundle in `dist/`.

import { join } from "node:path";

export const isBundled = !import.meta.url.endsWith(".ts");

export const projectFolder = join(import.meta.dirname, isBundled ? ".." : "../../../..");
