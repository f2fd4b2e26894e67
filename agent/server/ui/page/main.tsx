// The page: what is common to all its views, and which one is shown.

import { render } from "preact";
import { useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import type { PageState } from "../state.ts";
import { takeTokenFromLink } from "./access.ts";
import { useAsked } from "./asked.ts";
import { ClusterView } from "./cluster.tsx";
import { ContainerView } from "./container.tsx";
import { NodeView } from "./node.tsx";
import { linkTo, type Place, usePlace } from "./place.ts";
import { PodView } from "./pod.tsx";
import { SignIn } from "./sign-in.tsx";
import "./style.css";

function App() {
  const place = usePlace();
  const [id, path] = wanted(place);
  const [round, setRound] = useState(0);
  const { value: state, trouble } = useAsked<PageState>(path, round);
  if (trouble === 401 || trouble === 403)
    return <SignIn what="The node and its pods" status={trouble} onToken={() => setRound(round + 1)} />;
  if (!state) return <p class="soft">{trouble === undefined ? "…" : "The node does not answer."}</p>;
  return (
    <>
      <nav aria-label="Views">
        <a href={linkTo.node} aria-current={place.view === "cluster" ? undefined : "page"}>
          {state.node.name}
        </a>
        {state.hasCluster && (
          <a href={linkTo.cluster} aria-current={place.view === "cluster" ? "page" : undefined}>
            Cluster
          </a>
        )}
        <span role="status" class={trouble === undefined ? "soft" : "bad"}>
          {trouble === undefined ? "" : "no answer"}
        </span>
      </nav>
      <View key={id} place={place} state={state} isLost={trouble !== undefined} />
    </>
  );
}

/** What tells the views apart, and the document that each needs. */
function wanted(place: Place): readonly [id: string, path: string] {
  if (place.view !== "container") return ["uid" in place ? place.uid : place.view, "state"];
  return [`${place.uid}/${place.name}`, `state?pod=${place.uid}&container=${encodeURIComponent(place.name)}`];
}

interface ViewProps {
  readonly place: Place;
  readonly state: PageState;
  /** The node did not answer last time: what is shown is old. */
  readonly isLost: boolean;
}

function View({ place, state, isLost }: ViewProps) {
  if (place.view === "cluster") return <ClusterView />;
  if (place.view === "node") return <NodeView state={state} isLost={isLost} />;
  const pod = state.pods.find(({ uid }) => uid === place.uid);
  if (!pod) return <p class="soft">This pod is not here any more.</p>;
  if (place.view === "pod") return <PodView pod={pod} />;
  const container = pod.containers.find(({ name }) => name === place.name);
  if (!container) return <p class="soft">The pod has no such container.</p>;
  return <ContainerView pod={pod} container={container} />;
}

takeTokenFromLink();
const app = document.getElementById("app");
if (app) render(<App />, app);
