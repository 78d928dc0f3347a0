import { z } from "zod";
import { CandidateView, UsageCounts } from "./manage-records.ts";
