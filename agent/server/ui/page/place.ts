// Where on the page one is: the part of the address behind the hash, so that links, the back button and bookmarks work.

import { useEffect, useState } from "preact/hooks";

export type Place =
  | { readonly view: "node" }
  | { readonly view: "cluster" }
  | { readonly view: "pod"; readonly uid: string }
  | { readonly view: "container"; readonly uid: string; readonly name: string };

export const linkTo = {
  node: "#/",
  cluster: "#/cluster",
  pod: (uid: string) => `#/pod/${encodeURIComponent(uid)}`,
  container: (uid: string, name: string) => `#/pod/${encodeURIComponent(uid)}/${encodeURIComponent(name)}`,
};

function read(): Place {
  const [, view, uid, name] = location.hash.split("/").map(decodeURIComponent);
  if (view === "cluster") return { view };
  if (view === "pod" && uid && name) return { view: "container", uid, name };
  if (view === "pod" && uid) return { view, uid };
  return { view: "node" };
}

export function usePlace(): Place {
  const [place, setPlace] = useState(read);
  useEffect(() => {
    const move = () => setPlace(read());
    addEventListener("hashchange", move);
    return () => removeEventListener("hashchange", move);
  }, []);
  return place;
}
