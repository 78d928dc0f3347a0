import { useSearchParam, useWorkspace } from "../../address.ts";
import type { ApiResponse } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Money } from "../../ui/values.tsx";
import { Ledger, ledgerArgs, useLedgerFilter } from "./ledger.tsx";
import { Orders } from "./orders.tsx";
import { Promotions } from "./promotions.tsx";
import { TopUp } from "./top-up.tsx";

/** Money that requests leave behind is seen soon. */
const LOOK_MS = 15_000;

export function Screen() {
  const { workspace, at } = useWorkspace();
  const [open, setOpen] = useSearchParam("new");
  const params = { workspace };
  const wallet = useManage("manageShowWallet", { params }, { refetchMs: LOOK_MS });
  const topUp = useManage("manageShowTopUp", { params });
  const ledger = ledgerArgs(workspace, useLedgerFilter());
  const onTopUp = () => setOpen("1");
  return (
    <>
      <PageHeader
        title="Wallet"
        about="What this workspace pays from, and everything that ever moved it."
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageShowWallet", args: { params }, says: "Balance and holds" },
                { id: "manageListWalletEntries", args: ledger, says: "The ledger" },
              ]}
            />
            <LinkButton to={at("wallet/statements")} icon="scroll">
              Statements
            </LinkButton>
            <Button look="primary" icon="plus" onClick={onTopUp}>
              Top up
            </Button>
          </>
        }
      />
      <Stack>
        {wallet.error !== null && wallet.data === undefined ? (
          <Card>
            <ErrorState error={wallet.error} onRetry={() => void wallet.refetch()} />
          </Card>
        ) : wallet.data === undefined ? (
          <Skeleton className="h-20 w-full" />
        ) : (
          <Balance wallet={wallet.data} />
        )}
        <Tabs
          label="Parts of the wallet"
          tabs={[
            { id: "ledger", label: "Ledger", content: () => <Ledger /> },
            { id: "orders", label: "Top-ups", content: () => <Orders ways={topUp.data} onTopUp={onTopUp} /> },
            { id: "promotions", label: "Promotions", content: () => <Promotions /> },
          ]}
        />
      </Stack>
      <TopUp open={open === "1"} onClose={() => setOpen("")} ways={topUp.data} />
    </>
  );
}

function Balance({ wallet }: { readonly wallet: ApiResponse<"manageShowWallet"> }) {
  const { balance, held, currency } = wallet;
  const freeNanos = nanosOf(balance) - nanosOf(held);
  const spendable = amountOf(freeNanos > 0n ? freeNanos : 0n);
  return (
    <>
      <StatRow>
        <Stat
          label="Spendable"
          value={<Money amount={spendable} currency={currency} as="balance" />}
          note="The balance without what is held"
          {...(freeNanos <= 0n ? { tone: "bad" as const } : {})}
        />
        <Stat
          label="Balance"
          value={<Money amount={balance} currency={currency} as="balance" />}
          note="All that is in the wallet"
        />
        <Stat
          label="Held"
          value={<Money amount={held} currency={currency} />}
          note="Reserved by requests that run now"
        />
      </StatRow>
      {freeNanos <= 0n && (
        <Callout tone="warn" title="Nothing is left to spend">
          Requests that cost something are refused with 402 until money comes in.
        </Callout>
      )}
    </>
  );
}
