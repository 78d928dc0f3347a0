import type { ApiResponse } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Money } from "../../ui/values.tsx";
import { useSearchParam, useWorkspace } from "../../url-state.ts";
import { AddFunds } from "./add-funds.tsx";
import { Ledger, ledgerArgs, useLedgerFilter } from "./ledger.tsx";
import { Orders } from "./orders.tsx";
import { Promotions } from "./promotions.tsx";

const REFETCH_MS = 15_000;

export function Screen() {
  const { workspace, at } = useWorkspace();
  const [open, setOpen] = useSearchParam("new");
  const params = { workspace };
  const wallet = useManage("manageShowWallet", { params }, { refetchMs: REFETCH_MS });
  const topUp = useManage("manageShowTopUp", { params });
  const ledger = ledgerArgs(workspace, useLedgerFilter());
  const onTopUp = () => setOpen("1");
  return (
    <>
      <PageHeader
        title="Wallet"
        about="The prepaid balance of this workspace and its transactions."
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageShowWallet", args: { params }, description: "Show balance and holds" },
                { id: "manageListWalletEntries", args: ledger, description: "List ledger entries" },
              ]}
            />
            <LinkButton to={at("wallet/statements")} icon="scroll">
              Statements
            </LinkButton>
            <Button variant="primary" icon="plus" onClick={onTopUp}>
              Add funds
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
          label="Wallet"
          tabs={[
            { id: "ledger", label: "Ledger", content: () => <Ledger /> },
            { id: "orders", label: "Top-ups", content: () => <Orders topUpOptions={topUp.data} onTopUp={onTopUp} /> },
            { id: "promotions", label: "Promotions", content: () => <Promotions /> },
          ]}
        />
      </Stack>
      <AddFunds open={open === "1"} onClose={() => setOpen("")} topUpOptions={topUp.data} wallet={wallet.data} />
    </>
  );
}

function Balance({ wallet }: { readonly wallet: ApiResponse<"manageShowWallet"> }) {
  const { balance, held, currency } = wallet;
  const availableNanos = nanosOf(balance) - nanosOf(held);
  const available = amountOf(availableNanos > 0n ? availableNanos : 0n);
  return (
    <>
      <StatRow>
        <Stat
          label="Available"
          value={<Money amount={available} currency={currency} as="balance" />}
          note="Balance minus holds"
          {...(availableNanos <= 0n ? { tone: "bad" as const } : {})}
        />
        <Stat label="Balance" value={<Money amount={balance} currency={currency} as="balance" />} note="Total funds" />
        <Stat label="Held" value={<Money amount={held} currency={currency} />} note="Reserved for running requests" />
      </StatRow>
      {availableNanos <= 0n && (
        <Callout tone="warn" title="No funds available">
          Paid requests are rejected with 402 until you add funds.
        </Callout>
      )}
    </>
  );
}
