import { useEffect } from "react";
import { pathIn, useGo } from "../../address.ts";
import { useMe } from "../../api/me.ts";
import { lastWorkspace } from "../../shell/last-workspace.ts";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";

/** Leads whoever is signed in to the workspace that was looked at last; everybody else is told what this is. */
export function Screen() {
  const me = useMe();
  const go = useGo();
  const workspace = me.data === null || me.data === undefined ? "" : lastWorkspace(me.data);
  const isOperator = me.data?.operator === true;
  useEffect(() => {
    if (workspace !== "") go(pathIn(workspace), "replace");
    else if (isOperator) go("/app/operator", "replace");
  }, [workspace, isOperator, go]);
  if (me.isPending || workspace !== "" || isOperator) return <SkeletonLines count={4} />;
  return (
    <div className="grid max-w-xl gap-5 text-center">
      <h1 className="text-3xl tracking-tight">One address for many models</h1>
      <p className="text-base text-soft text-pretty">
        Every answer says who served it, where, under which law, and what it cost.
      </p>
      <div className="flex flex-wrap justify-center gap-2">
        <LinkButton to="/app/sign-in" look="primary">
          Sign in
        </LinkButton>
        <LinkButton to="/app/models">Look at the models</LinkButton>
      </div>
    </div>
  );
}
