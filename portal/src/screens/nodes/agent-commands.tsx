import { useState } from "react";
import { CodeBlock } from "../../ui/code-block.tsx";
import { SegmentedControl, TabSet } from "../../ui/tabs.tsx";
import { agentSnippets, type IssuedNode, SERVERS } from "./node.ts";

/** Commands that run the agent next to a local server; without a node its token is a placeholder. */
export function AgentCommands({ node }: { readonly node?: IssuedNode | undefined }) {
  const [upstream, setUpstream] = useState<string>(SERVERS[0].value);
  const [chosen, setChosen] = useState("node");
  const snippets = agentSnippets(upstream, node);
  return (
    <div className="grid min-w-0 gap-3">
      <div>
        <SegmentedControl label="Local server" options={SERVERS} value={upstream} onChange={setUpstream} />
      </div>
      <TabSet tabs={snippets} label="Run the agent" chosen={chosen} choose={setChosen} className="grid min-w-0 gap-2">
        <CodeBlock code={snippets.find(({ id }) => id === chosen)?.code ?? ""} label="Run the agent" />
      </TabSet>
      <p className="text-xs text-soft">
        Requires Node.js 20.12 or later, or Docker. Works behind NAT: the agent opens the connection, and no inbound
        port is required.
      </p>
    </div>
  );
}
