nly workspaceId: string; readonly currency: string; nanos: bigint };

