// Made from schemas/openapi.json by `npm run generate`. Do not change it by hand.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the process responds */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics, in the OpenMetrics text format
         * @description Needs the scope `read`.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This description */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the server has loaded the existing runs */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/downloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a download link for one file, valid for one minute without a token
         * @description Needs the scope `read`.
         */
        post: operations["create_download"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/engines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List engines, whether each is installed, and how well it is supported
         * @description Needs the scope `read`.
         */
        get: operations["list_engines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/interactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the pending questions of all runs
         * @description Needs the scope `read`.
         */
        get: operations["list_open_interactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List runs, the newest first
         * @description Needs the scope `read`.
         */
        get: operations["list_runs"];
        put?: never;
        /**
         * Run a skill or a prompt
         * @description Needs the scope `run`.
         */
        post: operations["create_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a run, or wait for it
         * @description Needs the scope `read`.
         */
        get: operations["get_run"];
        put?: never;
        post?: never;
        /**
         * Remove a run that is over
         * @description Needs the scope `admin`.
         */
        delete: operations["delete_run"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply the changes of a run to the folder of which it has a copy
         * @description Needs the scope `admin`.
         */
        post: operations["apply_changes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the artifacts of a run
         * @description Needs the scope `read`.
         */
        get: operations["list_artifacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/artifacts/{path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download one artifact
         * @description Needs the scope `read`.
         */
        get: operations["get_artifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what happened in each attempt
         * @description Needs the scope `read`.
         */
        get: operations["list_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download result and artifacts of a run as a zip
         * @description Needs the scope `read`.
         */
        get: operations["get_bundle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description Needs the scope `run`.
         */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the conversation of a run (FCMP)
         * @description Needs the scope `read`.
         */
        get: operations["stream_chat"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/chat/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the conversation of a run, page by page (FCMP)
         * @description Needs the scope `read`.
         */
        get: operations["chat_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Close a conversation that waits for the next prompt
         * @description Needs the scope `run`.
         */
        post: operations["close_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/continue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a conversation that begins with the transcript of a run
         * @description Needs the scope `run`.
         */
        post: operations["continue_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/diagnosis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain the state of a run and what to do
         * @description Needs the scope `read`.
         */
        get: operations["get_diagnosis"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the files each attempt created, changed and deleted
         * @description Needs the scope `read`.
         */
        get: operations["get_diff"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the events of a run (RASP)
         * @description Needs the scope `read`.
         */
        get: operations["stream_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/events/at": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events derived from a byte of evidence
         * @description Needs the scope `read`.
         */
        get: operations["events_at"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/events/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events of a run, page by page (RASP)
         * @description Needs the scope `read`.
         */
        get: operations["events_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/events/outline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Many events of a run in a few numbers each, to draw them
         * @description Needs the scope `read`.
         */
        get: operations["events_outline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/interaction": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the pending question of a run
         * @description Needs the scope `read`.
         */
        get: operations["get_interaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/interaction/reply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer the pending question of a run
         * @description Needs the scope `run`.
         */
        post: operations["reply"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/interactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all questions of a run and their outcomes
         * @description Needs the scope `read`.
         */
        get: operations["list_interactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/interrupt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop the open turn; the run then waits for the next prompt
         * @description Needs the scope `run`.
         */
        post: operations["interrupt_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/raw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download bytes the engine wrote or received, with secrets masked
         * @description Needs the scope `read`.
         */
        get: operations["get_raw"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/recording.cast": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download the run as a recording for a terminal player (asciicast v3)
         * @description Needs the scope `read`.
         */
        get: operations["get_recording"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what a model would see again of a run
         * @description Needs the scope `read`.
         */
        get: operations["replay_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the request of a run, as it was accepted
         * @description Needs the scope `read`.
         */
        get: operations["get_request"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the result of a run that is over
         * @description Needs the scope `read`.
         */
        get: operations["get_result"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a new run with the same request, optionally with changes
         * @description Needs the scope `run`.
         */
        post: operations["retry_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/tree": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a run and all runs below it
         * @description Needs the scope `read`.
         */
        get: operations["run_tree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/tree/diagnosis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare what a run and all runs below it say of each other
         * @description Needs the scope `read`.
         */
        get: operations["diagnose_tree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/verification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verify the stored files of a run
         * @description Needs the scope `read`.
         */
        get: operations["verify_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the webhook messages of a run and their delivery state
         * @description Needs the scope `read`.
         */
        get: operations["list_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/workflow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a workflow with its steps
         * @description Needs the scope `read`.
         */
        get: operations["get_workflow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/workflow/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a workflow again with the same inputs
         * @description Needs the scope `run`.
         */
        post: operations["retry_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log a browser in with the code of a one-time link */
        post: operations["begin_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log this browser out: its token is revoked
         * @description Needs the scope `read`.
         */
        post: operations["end_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List skills that can be run by name
         * @description Needs the scope `read`.
         */
        get: operations["list_skills"];
        put?: never;
        /**
         * Install a skill from a zip
         * @description Needs the scope `admin`.
         */
        post: operations["install_skill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a skill with its schemas
         * @description Needs the scope `read`.
         */
        get: operations["get_skill"];
        put?: never;
        post?: never;
        /**
         * Remove an installed skill
         * @description Needs the scope `admin`.
         */
        delete: operations["remove_skill"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills/{name}/patched": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a skill as the agent reads it, with the rules that a run adds
         * @description Needs the scope `read`.
         */
        get: operations["get_patched_skill"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the summaries of all runs
         * @description Needs the scope `read`.
         */
        get: operations["stream_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Validate a skill in a zip without storing it
         * @description Needs the scope `run`.
         */
        post: operations["validate_skill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a workflow
         * @description Needs the scope `run`.
         */
        post: operations["create_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check the file of a workflow
         * @description Needs the scope `read`.
         */
        post: operations["validate_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The options of a run: from the request, else the skill, else the settings. */
        AcceptedOptions: {
            /** @description Hosts that they reach in addition to the model of the engine. */
            allow_hosts: components["schemas"]["HostPattern"][];
            /**
             * Format: uint32
             * @description Maximum number of questions answered automatically.
             */
            auto_decision_limit: number;
            /** @description Whether the processes of the run start in a box. */
            box: components["schemas"]["BoxChoice"];
            /** @description How the engine resumes after a question. */
            continuation: components["schemas"]["Continuation"];
            /** @description What to do when no user answers; null: as the skill says, else as the question says. */
            default_decision_policy: components["schemas"]["DecisionPolicy"] | null;
            /** @description The reasoning effort, in the terms of the engine; null: the engine's choice. */
            effort: string | null;
            /** @description Names of environment variables passed to the engine. */
            env: string[];
            /**
             * Format: double
             * @description An attempt that takes longer is terminated.
             */
            hard_timeout_sec: number;
            /** @description The engine's home folder. */
            home: components["schemas"]["HomeChoice"];
            /** Format: double */
            idle_sec: number;
            /** @description False: when no user answers in time, the question is answered automatically. */
            interactive_require_user_reply: boolean;
            /** @description What the processes of an attempt may use; what is missing is not limited. */
            limits: components["schemas"]["ResourceLimits"];
            /**
             * Format: double
             * @description How long the engine process may keep running after the end of its turn; null: the engine's default.
             */
            linger_sec: number | null;
            /**
             * Format: uint32
             * @description Maximum number of turns; null: no limit.
             */
            max_attempt: number | null;
            /**
             * Format: uint64
             * @description An attempt that writes more is terminated.
             */
            max_bytes: number;
            /** @description MCP servers for the engine, by name: those of the request and of the skill. */
            mcp_servers: components["schemas"]["McpServers"];
            /** @description What they reach over the network. */
            network: components["schemas"]["NetworkAccess"];
            permission: components["schemas"]["Permission"];
            /**
             * Format: int32
             * @description Runs with a higher priority start sooner.
             */
            priority: number;
            /** @description How the engine's output is read. */
            profile: components["schemas"]["ProfileId"];
            /** @description Whether an auto run fails when the agent gives no done marker. */
            require_marker: boolean;
            /** @description When a failed run is retried automatically. */
            retry: components["schemas"]["AcceptedRetry"];
            /** @description Names of environment variables passed to the engine, whose values are masked wherever they occur. */
            secrets: string[];
            /**
             * Format: double
             * @description How long a question waits for an answer.
             */
            session_timeout_sec: number;
            /** @description Whether changes of the workspace are recorded. */
            snapshot: components["schemas"]["Snapshot"];
            /**
             * Format: double
             * @description An attempt without output for longer is terminated.
             */
            stall_timeout_sec: number;
            /** @description Whether files of the workspace may start programs and name addresses. */
            workspace_settings: components["schemas"]["WorkspaceSettings"];
        };
        /** @description When a failed run is retried automatically, as a new run with the same request. */
        AcceptedRetry: {
            /** @description What to do when the quota of the engine is exhausted. */
            quota: components["schemas"]["OnQuota"];
            /**
             * Format: uint32
             * @description Maximum number of consecutive automatic retries.
             */
            quota_max: number;
        };
        /** @description A layer, and the lines it has become. */
        AddedLayer: {
            /** Format: uint */
            from_line: number;
            name: components["schemas"]["SkillLayer"];
            origin: components["schemas"]["SkillLayerOrigin"];
            /**
             * Format: uint
             * @description The last of its lines.
             */
            to_line: number;
        };
        /** @description One changed path. */
        ApplyChange: {
            change: components["schemas"]["ChangeKind"];
            path: components["schemas"]["OsText"];
            /** @description The folder had the change before. */
            was_applied: boolean;
        };
        /** @description Where the changes of a run are applied. */
        ApplyChanges: {
            /**
             * @description Change nothing, and report what would be changed.
             * @default false
             */
            check?: boolean;
            /** @description A folder on the server's machine, absolute. Default: the folder that was copied. */
            to?: string | null;
        };
        /** @description How the changes of a run relate to a folder. */
        ApplyOutcome: "applied" | "already_applied" | "applicable" | "nothing_to_apply";
        /** @description What was done, or would be. */
        ApplyReport: {
            changes: components["schemas"]["ApplyChange"][];
            /** @description The folder, as text. */
            folder: string;
            /** @description Changes that cannot be applied, such as those of pipes and sockets. */
            left_out: components["schemas"]["NotApplied"][];
            outcome: components["schemas"]["ApplyOutcome"];
            run_id: components["schemas"]["RunId"];
        };
        /** @description The engine reports that it has changed a file. */
        ArtifactCreated: {
            change: components["schemas"]["FileChange"];
            path: string;
        };
        /** @description A file that a run made. */
        ArtifactEntry: {
            /** @description blake3. */
            hash: string;
            path: string;
            role: string | null;
            /** Format: uint64 */
            size: number;
            type: string;
        };
        /** @description The run has produced an artifact. */
        ArtifactIndexed: {
            /** @description blake3, in hexadecimal digits. */
            hash: string;
            /** @description As in `GET /v1/runs/{run_id}/artifacts/{path}`. */
            path: string;
            /** @description The skill's name for it. */
            role: string | null;
            /**
             * Format: uint64
             * @description In bytes.
             */
            size: number;
            /** @description The media type, derived from the file name. */
            type: string;
        };
        /** @description Files that a run made. */
        ArtifactList: {
            artifacts: components["schemas"]["ArtifactEntry"][];
        };
        /** @description An artifact can be previewed: its type is one that a page can show, and it is not too large. */
        ArtifactPreviewReady: {
            kind: components["schemas"]["PreviewKind"];
            /** @description As in `GET /v1/runs/{run_id}/artifacts/{path}`. */
            path: string;
        };
        /** @description The run has produced an artifact. */
        ArtifactToShow: {
            /** @description As in `GET /v1/runs/{run_id}/artifacts/{path}`. */
            path: string;
            /**
             * Format: uint64
             * @description In bytes.
             */
            size: number;
            /** @description The media type, derived from the file name. */
            type: string;
        };
        /** @description A question and how it was resolved. */
        Asked: {
            asked_at: components["schemas"]["Timestamp"];
            auto_decide_reason?: components["schemas"]["AutoDecideReason"] | null;
            /** @description Names in `inputs/` of the run. */
            files: string[];
            is_open: boolean;
            question: components["schemas"]["Interaction"];
            reply: string | null;
            /** @description None while there is no answer, and permanently where the run ended before. */
            resolution_mode: components["schemas"]["ResolutionMode"] | null;
            resolved_at: components["schemas"]["Timestamp"] | null;
            timed_out_at: components["schemas"]["Timestamp"] | null;
        };
        /** @description An option that a question offers. */
        AskOption: {
            default?: boolean;
            /** @description The text to show to the user. */
            label: string;
            /** @description The text to send as the answer. */
            value: string;
        };
        /**
         * @description A further piece of a message that is not complete yet. The final message with the same `message_id` replaces all of
         *     its pieces.
         */
        AssistantDelta: {
            /** @description Unique among the messages of the attempt. */
            message_id: string;
            /** @description Always true. */
            partial: boolean;
            /** @description The text that follows the previous deltas. */
            text: string;
        };
        /** @description A message of the agent. It is an answer only if a `turn.ended` with the state `completed` names it. */
        AssistantFinal: {
            /** @description The same as that of its deltas, if there were any. */
            message_id: string;
            /** @description The message was cut off: deltas arrived, but no end. */
            partial: boolean;
            /**
             * @description The JSON object of a message that is one JSON object, or that contains exactly one, alone in a code fence;
             *     without the done marker. Not validated: the output of the skill is in the result.
             */
            structured_payload?: {
                [key: string]: unknown;
            } | null;
            text: string;
        };
        /** @description A summary of the agent's reasoning. */
        AssistantReasoning: {
            text: string;
        };
        /** @description The agent uses a tool: one event when the call starts and one when it ends, with the same `tool_call_id`. */
        AssistantToolCall: {
            /** @description As the engine wrote it. */
            input?: unknown;
            /** @description The engine's name for the tool; present when the call starts. */
            name: string | null;
            output?: string | null;
            /** @description Why it failed. */
            reason?: string | null;
            status: components["schemas"]["ToolCallStatus"];
            tool_call_id: string | null;
        };
        /** @description One turn of the engine. */
        Attempt: {
            /**
             * Format: uint64
             * @description The engine's output, each byte counted once; none where the evidence was removed.
             */
            bytes: number | null;
            /** @description None while it is running. */
            ended: components["schemas"]["AttemptEnd"] | null;
            number: components["schemas"]["AttemptNumber"];
            /** @description How well its output could be read; null while it is running, and where the evidence was removed. */
            parse: components["schemas"]["ParseFigures"] | null;
            started_at: components["schemas"]["Timestamp"];
            streams: components["schemas"]["StreamSizes"];
        };
        /** @description Files that changed in one attempt. */
        AttemptChanges: {
            attempt: components["schemas"]["AttemptNumber"];
            changes: components["schemas"]["WorkspaceChange"][];
            /** @description There are more changes than these. */
            cut: boolean;
        };
        /** @description How an attempt ended. */
        AttemptEnd: {
            at: components["schemas"]["Timestamp"];
            completion: components["schemas"]["CompletionState"];
            /** @description When a time limit that the turn has reached was over. */
            deadline_at?: components["schemas"]["Timestamp"] | null;
            exit: components["schemas"]["Exit"];
            /** @description The limit that the turn has reached. */
            limit?: components["schemas"]["TurnLimit"] | null;
            /** @description What the user could do after a turn that did not complete. */
            next_actions?: components["schemas"]["NextAction"][];
            reason_code: components["schemas"]["Code"];
            /** @description The rule of the settle table. */
            rule: components["schemas"]["Rule"];
            turn: components["schemas"]["TurnState"];
        };
        /** @description The verdict on a turn of the engine. */
        AttemptEnded: {
            /** @description When a time limit that the turn has reached was over. */
            deadline_at?: components["schemas"]["Timestamp"] | null;
            details?: string | null;
            /** Format: uint64 */
            elapsed_ms?: number | null;
            error_kind?: components["schemas"]["ErrorCategory"] | null;
            exit: components["schemas"]["Exit"];
            /** @description BLAKE3 of `host.N.json`, which has the hashes of the evidence. Absent where the host left no record. */
            host_hash?: string | null;
            /** @description The limit that the turn has reached. */
            limit?: components["schemas"]["TurnLimit"] | null;
            /** @description What the user can do after a turn that did not complete. */
            next_actions?: components["schemas"]["NextAction"][];
            terminal_status: components["schemas"]["TurnState"];
            /** Format: uint64 */
            timeout_ms?: number | null;
            verdict: components["schemas"]["Verdict"];
        };
        /** @description How an attempt ended. */
        AttemptEnding: {
            at: components["schemas"]["Timestamp"];
            /** Format: double */
            confidence: number;
            /** @description When a time limit that the turn has reached was over. */
            deadline_at?: components["schemas"]["Timestamp"] | null;
            exit: components["schemas"]["Exit"];
            /** @description The limit that the turn has reached. */
            limit?: components["schemas"]["TurnLimit"] | null;
            /** @description What the user could do after a turn that did not complete. */
            next_actions?: components["schemas"]["NextAction"][];
            reason_code: components["schemas"]["Code"];
            rule: components["schemas"]["Rule"];
            turn: components["schemas"]["TurnState"];
        };
        /** @description Attempts, oldest first. */
        AttemptList: {
            attempts: components["schemas"]["Attempt"][];
        };
        /**
         * Format: uint32
         * @description One engine turn inside a run, from 1. Zero stands for "before the first attempt".
         */
        AttemptNumber: number;
        /** @description A turn of the engine begins. */
        AttemptStarted: {
            /** @description What the box of its processes holds, and by what; absent without a box. */
            box?: components["schemas"]["BoxReport"] | null;
            engine_version?: string | null;
            /**
             * Format: uint32
             * @description Process id of the attempt's host; absent when a recording was read.
             */
            host_pid?: number | null;
            profile: components["schemas"]["ProfileId"];
            /** Format: uint32 */
            profile_version: number;
            started_at: components["schemas"]["Timestamp"];
        };
        /** @description What happened in one attempt, and where it is recorded. */
        AttemptStory: {
            attempt: components["schemas"]["AttemptNumber"];
            bytes: components["schemas"]["OutputBytes"];
            /** @description None while it is open. */
            ending: components["schemas"]["AttemptEnding"] | null;
            evidence: components["schemas"]["Passage"][];
            /** @description The same process continues in the next attempt. */
            process_continues: boolean;
            started_at: components["schemas"]["Timestamp"];
        };
        /** @description No answer arrived in time, and the question was decided automatically. */
        AutoDecided: {
            /** @description The text that the agent received instead of an answer. */
            instruction: string;
            interaction_id: components["schemas"]["InteractionId"];
            policy: components["schemas"]["DecisionPolicy"];
            reason?: components["schemas"]["AutoDecideReason"] | null;
            /** @description Absent in runs of 0.1.0, like `reason`. */
            source?: components["schemas"]["AutoDecisionSource"] | null;
        };
        /** @description Why an automatic decision was taken. */
        AutoDecideReason: "user_no_reply";
        /** @description No answer arrived in time, and the question was decided automatically. */
        AutoDecision: {
            /** @description The text that the agent receives instead of an answer. */
            instruction: string;
            interaction_id: components["schemas"]["InteractionId"];
            /** @description The policy that was applied, which may differ from the question's own. */
            policy: components["schemas"]["DecisionPolicy"];
            reason?: components["schemas"]["AutoDecideReason"] | null;
            /** @description Absent in Logs that 0.1.0 wrote, like `reason`. */
            source?: components["schemas"]["AutoDecisionSource"] | null;
        };
        /** @description What caused an automatic decision. */
        AutoDecisionSource: "auto_decide_timeout";
        /** @description The credential of a browser login. */
        BeginSession: {
            /** @description The value after `#code=` in a link of `skillrun open`; valid once. */
            code: string;
        };
        /** @description Whether the processes of a run start in a box. */
        BoxChoice: "off" | "on" | "required";
        /** @description A part of a box, and what enforces it, or why nothing does. */
        BoxPart: {
            /** @description What enforces it; only with `enforced`. */
            mechanism?: components["schemas"]["PartMechanism"] | null;
            part: components["schemas"]["BoxPartName"];
            /** @description Why nothing does; only with `not_enforced`. */
            reason?: string | null;
            state: components["schemas"]["BoxPartState"];
        };
        /** @description A part of a box, or a limit. */
        BoxPartName: "files" | "processes" | "network" | "memory" | "process_count" | "cpu" | "disk";
        /**
         * @description Whether a part of a box holds.
         * @enum {string}
         */
        BoxPartState: "enforced" | "not_enforced";
        /** @description What the box of a run holds: the parts that the run asks for. */
        BoxReport: {
            parts: components["schemas"]["BoxPart"][];
            /** @description What can be reached over the network, where it is restricted. */
            reachable?: components["schemas"]["HostPattern"][];
        };
        /** @description What an event is about. */
        Category: ("lifecycle" | "agent" | "interaction" | "tool" | "artifact" | "diagnostic" | "raw") | "runtime";
        /**
         * @description What was done to a file.
         * @enum {string}
         */
        ChangeKind: "created" | "modified" | "deleted";
        /** @description A command: a line for `sh -c`, or the words of the command itself. */
        CheckCommand: string | string[];
        /** @description A check has ended. The run continues with the next check, and succeeds after the last one that has passed. */
        CheckEnded: {
            /**
             * Format: uint32
             * @description Its number among the checks of the run, from 1.
             */
            check: number;
            command: components["schemas"]["CheckCommand"];
            /** @description Why it could not be started, or was lost. */
            details?: string | null;
            /** Format: uint64 */
            elapsed_ms: number;
            /** @description The folder with its evidence, in the folder of the run. */
            evidence: string;
            exit: components["schemas"]["Exit"];
            /** @description BLAKE3 of the host's record of it; absent where there is none. */
            host_hash?: string | null;
            name: string;
            /** @description The last lines of its output. */
            output_tail?: string | null;
            /**
             * Format: uint32
             * @description The number of the recording in that folder: a check whose host was lost is run again.
             */
            recording: number;
            status: components["schemas"]["CheckStatus"];
            stderr: components["schemas"]["CheckOutput"];
            stdout: components["schemas"]["CheckOutput"];
        };
        /** @description A check, a command that skillrun runs after the turn, has ended. The run can succeed only if the status is `passed`. */
        CheckEndedToShow: {
            /** @description The command, in one line. */
            command: string;
            /** @description Why it could not be started, or was lost. */
            details?: string | null;
            /** Format: uint64 */
            elapsed_ms: number;
            /** Format: int32 */
            exit_code?: number | null;
            name: string;
            /** @description The last lines of its output. */
            output_tail?: string | null;
            signal?: string | null;
            status: components["schemas"]["CheckStatus"];
        };
        /** @description What a check has written to one of its streams. */
        CheckOutput: {
            /** Format: uint64 */
            bytes: number;
            /** @description BLAKE3 of the file, in hexadecimal digits; absent where no host has recorded it. */
            hash?: string | null;
        };
        /** @description A check, as a request or a skill asks for it. */
        CheckRequest: {
            command: components["schemas"]["CheckCommand"];
            /** @description None: its number among the checks of the run. */
            name?: string | null;
            /**
             * Format: double
             * @description The longest time that it may take. None: 600.
             */
            timeout_sec?: number | null;
        };
        /** @description How a check ended. */
        CheckResult: {
            /** Format: uint64 */
            elapsed_ms: number;
            /** @description The folder with its output, in the folder of the run. */
            evidence: string;
            exit: components["schemas"]["Exit"];
            name: string;
            /** @description The last lines of its output. */
            output_tail?: string | null;
            status: components["schemas"]["CheckStatus"];
        };
        /** @description How a check came out. */
        CheckSeverity: "passed" | "unknown" | "warning" | "failed";
        /** @description How a check ended. */
        CheckStatus: "timed_out" | "passed" | "failed" | "not_started" | "canceled";
        /** @description What is checked. */
        CheckTopic: "tool_pairing" | "turn_records" | "partial_answers" | "failure_class" | "output_cut" | "user_message" | "replay_balance";
        /** @description The file of a workflow, to be checked. */
        CheckWorkflow: {
            /** @description The engine of steps that name none. Default: the configured engine. */
            engine?: string | null;
            /** @description The text of the file, YAML or JSON. */
            workflow: string;
        };
        /**
         * @description A code: why a turn ended, what went wrong, or what was observed.
         * @enum {string}
         */
        Code: "CANCELED" | "INTERRUPTED" | "LIMIT_REACHED" | "ENGINE_FAILED" | "DONE_MARKER_OUTPUT_INVALID" | "DONE_MARKER_FOUND" | "TIMEOUT" | "ATTEMPT_LOST" | "EVIDENCE_BUDGET" | "MEMORY_LIMIT" | "PROCESS_LIMIT" | "CPU_LIMIT" | "DISK_LIMIT" | "HOST_ERROR" | "ENGINE_NOT_FOUND" | "ENGINE_NOT_STARTED" | "ENGINE_END_MISSING" | "EXIT_UNKNOWN" | "ANSWER_MISSING" | "AGENT_NOT_DONE" | "OUTPUT_VALID" | "CLEAN_FINAL" | "OUTPUT_MISSING" | "OUTPUT_INVALID" | "TURN_ENDED_WITHOUT_MARKER" | "CLOSED" | "OUTPUT_SCHEMA_INVALID" | "DONE_MARKER_MISSING" | "ENGINE_EXIT_NONZERO" | "INTERACTIVE_MAX_ATTEMPT_EXCEEDED" | "SESSION_ID_MISSING" | "INPUT_CHANGED" | "SESSION_NOT_FOUND" | "SESSION_LOST" | "INTERACTION_WAIT_TIMEOUT" | "INTERACTION_ABORTED_BY_POLICY" | "AUTO_DECISION_LIMIT" | "SKILL_UNREADABLE" | "WORKSPACE_FAILED" | "CHECK_FAILED" | "LOG_LOST" | "CHILD_NOT_MADE" | "PARENT_ENDED" | "WORKFLOW_COMPLETED" | "WORKFLOW_PARTIAL" | "WORKFLOW_FAILED" | "WORKFLOW_TIMED_OUT" | "WORKFLOW_HELD" | "STEP_NOT_READY" | "STEP_NOT_NEEDED" | "STEP_INPUT_INVALID" | "STEP_OUTPUT_INVALID" | "OUTPUT_PARTIAL" | "STEP_REJECTED" | "EXIT_NONZERO_AFTER_DONE" | "WRAPPER_ENDED" | "LINGER_ENDED" | "HOST_LOST_AFTER_DONE" | "COMPLETED_WITHOUT_DONE_MARKER" | "INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER" | "END_EVENT_CUT" | "UNEXPECTED_COMPLETION_STATE" | "DONE_MARKER_IN_RAW" | "DONE_MARKER_MALFORMED" | "DONE_MARKER_FALSE" | "DONE_MARKER_BEFORE_WORK" | "OUTPUT_BEFORE_WORK" | "DONE_MARKER_REPEATED" | "OUTPUT_TOO_LARGE" | "ASK_USER_MALFORMED" | "ASK_USER_IGNORED" | "ASK_USER_KIND_UNKNOWN" | "ASK_USER_POLICY_UNKNOWN" | "ASK_USER_OPTION_UNREADABLE" | "UNKNOWN_EVENT" | "LOW_CONFIDENCE_PARSE" | "RAW_FLOOD" | "LINE_TOO_LONG" | "DOCUMENT_UNCLOSED" | "MESSAGE_VOIDED" | "PTY_STREAM_MISMATCH" | "TOOL_CALLS_CUT" | "ENGINE_VERSION_UNTESTED" | "WORKSPACE_SETTINGS_IGNORED" | "WORKSPACE_SETTINGS_NOT_STOPPED" | "WORKSPACE_CREDENTIALS" | "PIPE_SMALL" | "SECRET_SHORT" | "SECRET_IN_FILE_NAME" | "SNAPSHOT_FAILED" | "SNAPSHOT_LIMITED" | "SURVIVORS_ENDED" | "CONNECTION_REFUSED" | "SURVIVORS_LEFT" | "LOGIN_NOT_KEPT" | "LOGIN_COPIED_BACK" | "LOGIN_OTHER_ACCOUNT" | "ARTIFACTS_CUT" | "ARTIFACT_MISSING" | "ARTIFACT_HARD_LINK" | "ENGINE_ERROR" | "ENGINE_RETRY" | "ENGINE_WARNING" | "MCP_SERVER_FAILED" | "ATTEMPT_MISSING" | "AFTER_TERMINAL" | "META_MISSING" | "CHUNK_INDEX_TORN" | "MASK_INCOMPLETE" | "PARSER_CHANGED" | "EVENTS_NOT_LOGGED" | "RAW_DUPLICATE_SUPPRESSED";
        /**
         * @description What a turn means for the skill's work.
         * @enum {string}
         */
        CompletionState: "completed" | "awaiting_user_input" | "interrupted" | "unknown";
        /** @description Whether a later turn can continue in the same session. */
        Continuation: ("resumable" | "none") | "sticky";
        /** @description How the conversation of a run continues on another engine. */
        ContinueRun: {
            /** @description The engine of the new run; the default engine of the server if it is absent. */
            engine?: string | null;
            model?: string | null;
            options?: components["schemas"]["RunOptions"];
            /** @description What follows the transcript of the old run; a sentence that asks to continue if it is absent. */
            prompt?: string | null;
            /** @description Webhook addresses of the new run. */
            webhooks?: string[];
        };
        /** @description The run that a new one continues: its first message is the replay of that run, followed by a prompt. */
        Continues: {
            /**
             * Format: uint64
             * @description The length of the transcript: the prompt begins at this byte of the message. Absent in records of versions that
             *     did not note it.
             */
            bytes?: number | null;
            /** @description The hash of the replay up to that turn. */
            hash: string;
            /** @description What the message does not have. */
            left_out: components["schemas"]["ReplayLeftOutCount"][];
            run_id: components["schemas"]["RunId"];
            /**
             * Format: uint64
             * @description The event that ended the last turn of the replay.
             */
            seq: number;
        };
        /** @description The run is over; no event comes after this one. */
        ConversationEnded: {
            error?: components["schemas"]["RunError"] | null;
            /** @description What the user can do next. */
            next_actions?: components["schemas"]["NextAction"][];
            reason_code: components["schemas"]["Code"];
            /** @description One of the terminal statuses. */
            state: components["schemas"]["RunStatus"];
            /** @description Warnings about a run that succeeded, such as a missing done marker. */
            warnings?: components["schemas"]["Code"][];
        };
        /** @description The run has begun. */
        ConversationStarted: {
            engine: string;
            mode: components["schemas"]["ExecutionMode"];
            /** @description The name of the skill; a description of the recording where there is none. */
            title: string;
        };
        /** @description The run has changed its status, or the engine reports what it is doing. */
        ConversationStatus: {
            /** @description For people; the text may change between versions. */
            detail: string | null;
            phase: components["schemas"]["Phase"] | null;
            /** @description Null: the status has not changed. */
            status: components["schemas"]["RunStatus"] | null;
        };
        /** @description What was copied. */
        CopiedFrom: "repository" | "folder";
        /** @description What an event belongs to; a field is null where it does not apply. */
        Correlation: {
            artifact_id: string | null;
            interaction_id: components["schemas"]["InteractionId"] | null;
            /** @description The run that has asked for this one, on control events. */
            parent_run_id: components["schemas"]["RunId"] | null;
            /** @description The key of the request that created the run, on control events; on `interaction.replied` the key of that reply. */
            request_id: string | null;
            session_id: string | null;
            /** @description The step of a workflow, on events about one. */
            step_id: string | null;
            tool_call_id: string | null;
        };
        /** @description A file to download. */
        CreateDownload: {
            /** @description Path and query of an artifact, a bundle, a recording or the bytes of an attempt, without a ticket. */
            path: string;
        };
        /** @description A request for a run. */
        CreateRun: {
            /** @description One of `GET /v1/engines`. Default: the configured engine, or the only one the skill supports. */
            engine?: string | null;
            /** @description The input, as the input schema of the skill requires; files are sent in a form. */
            input?: {
                [key: string]: unknown;
            };
            /** @description Default: the mode the skill prefers; `auto` without a skill. */
            mode?: components["schemas"]["ExecutionMode"] | null;
            /** @description The engine's name of the model. */
            model?: string | null;
            options?: components["schemas"]["RunOptions"];
            /** @description The parameters, as the parameter schema of the skill requires. */
            parameter?: {
                [key: string]: unknown;
            };
            /**
             * @description The run becomes a child of this one, whose open turn must be allowed to delegate. It then has the permission of its
             *     parent; beside the task, only `engine`, `mode`, `input`, `parameter`, `model`, `options.hard_timeout_sec` and
             *     `webhooks` can be given. The Idempotency-Key is the key of the child, which is unique in the turn of the parent;
             *     without one, the same request gives the same child.
             */
            parent_run_id?: components["schemas"]["RunId"] | null;
            /**
             * @description The first message to the engine, for a run without a skill. A request has exactly one of `skill` (or a zip) and
             *     `prompt`.
             */
            prompt?: string | null;
            /**
             * @description The name of a skill of `GET /v1/skills`; omitted when the skill is sent with the request as a zip. A path needs
             *     the scope `admin`.
             */
            skill?: string | null;
            /** @description Addresses that are notified when the run waits for an answer and when it is over. */
            webhooks?: string[];
            /** @description A folder on the server's machine to work in; needs the scope `admin`. Default: a folder inside the run. */
            workspace?: components["schemas"]["WorkspaceChoice"] | null;
        };
        /** @description A request with files: parts of a form. */
        CreateRunForm: {
            /** @description The request as JSON, as when it is sent without files. */
            request?: components["schemas"]["CreateRun"];
            /** @description The script of the scripted engine. */
            script?: string;
            /** @description A zip with the skill. */
            skill?: string;
        } & {
            [key: string]: string;
        };
        /** @description A request for a workflow. */
        CreateWorkflow: {
            /** @description The engine of steps that name none. Default: the configured engine. */
            engine?: string | null;
            inputs?: {
                [key: string]: unknown;
            };
            /** @description The model of steps that name none. */
            model?: string | null;
            /** @description Of steps that have none of their own. */
            options?: components["schemas"]["RunOptions"];
            /** @description The name of a skill that has a workflow in `assets/workflow.yaml`. */
            skill?: string | null;
            /** @description Addresses that are notified when the workflow waits for a decision and when it is over. */
            webhooks?: string[];
            /** @description The text of the file, YAML or JSON. A request has exactly one of `workflow` and `skill`. */
            workflow?: string | null;
            /**
             * @description A folder on the server's machine in which steps with `workspace: shared` work; needs the scope `admin`. Default:
             *     a folder inside the run.
             */
            workspace?: components["schemas"]["WorkspaceChoice"] | null;
        };
        /**
         * @description What to do when no reply arrives before the deadline.
         * @enum {string}
         */
        DecisionPolicy: "engine_judgement" | "safe_default" | "abort";
        /** @description What a run may delegate. A run without this cannot have children. */
        Delegation: {
            /** @description The engines that children may use. Empty: every engine. */
            engines?: string[];
            /**
             * Format: uint32
             * @description Children of one run that work at the same time.
             * @default 8
             */
            max_children?: number;
            /**
             * Format: uint32
             * @description How far children may have children: 1 allows no grandchildren.
             * @default 2
             */
            max_depth?: number;
            /**
             * Format: uint32
             * @description Runs below the one at the top.
             * @default 50
             */
            max_total?: number;
            /** @default cancel */
            on_parent_end?: components["schemas"]["OnParentEnd"];
            /** @description The names of the skills that children may run, besides prompts. Empty: every skill. */
            skills?: string[];
        };
        /** @description One message to one address. */
        Delivery: {
            /** @description The same in every try, so that the receiver can recognize duplicates. */
            id: string;
            /** @description The outcome of the last try. */
            last: components["schemas"]["LastTry"] | null;
            next_try_at: components["schemas"]["Timestamp"] | null;
            /**
             * Format: uint64
             * @description The seq of the event in the Log.
             */
            seq: number;
            state: components["schemas"]["DeliveryState"];
            /** Format: uint32 */
            tries: number;
            type: components["schemas"]["MessageType"];
            url: string;
        };
        /** @description Messages about a run. */
        DeliveryList: {
            deliveries: components["schemas"]["Delivery"][];
        };
        /**
         * @description The state of a message.
         * @enum {string}
         */
        DeliveryState: "pending" | "delivered" | "given_up";
        /** @description Why a run is in its state. */
        Diagnosis: {
            attempts: components["schemas"]["AttemptStory"][];
            /** @description What was checked, and with which outcome. */
            checks: components["schemas"]["DiagnosisCheck"][];
            decided: components["schemas"]["DiagnosisDecided"] | null;
            /**
             * Format: uint64
             * @description The time so far, or the total time of a run that is over.
             */
            elapsed_ms: number;
            engine: string;
            engine_version: string | null;
            error: components["schemas"]["RunError"] | null;
            findings: components["schemas"]["DiagnosisFinding"][];
            mode: components["schemas"]["ExecutionMode"];
            next_actions: components["schemas"]["NextAction"][];
            /** @description The run does not begin before this. */
            not_before?: components["schemas"]["Timestamp"] | null;
            owner: components["schemas"]["DiagnosisOwner"];
            questions: components["schemas"]["DiagnosisQuestion"][];
            run_id: components["schemas"]["RunId"];
            session_id: string | null;
            since: components["schemas"]["Timestamp"];
            /** @description Null for a run without a skill. */
            skill: string | null;
            /** @description The status as presenters show it: a waiting run by what it waits for, a failed run by its reason. */
            state: components["schemas"]["RunState"];
            status: components["schemas"]["RunStatus"];
            timeline: components["schemas"]["Moment"][];
            /** @description The beginning of the prompt of a run without a skill. */
            title?: string | null;
        };
        /** @description One check and its outcome. */
        DiagnosisCheck: {
            /** @description The attempts that it is about; empty where it is about the whole run. */
            attempts?: components["schemas"]["AttemptNumber"][];
            check: components["schemas"]["CheckTopic"];
            severity: components["schemas"]["CheckSeverity"];
            /** @description For people; the text may change. */
            words: string;
        };
        /** @description What put the run into its state. */
        DiagnosisDecided: {
            reason_code: components["schemas"]["Code"];
            /** @description The row of the settle table; none where no turn decided. */
            rule: components["schemas"]["Rule"] | null;
            summary: string;
            /** @description That row in one sentence. */
            words: string;
        };
        /** @description Something that looks wrong. */
        DiagnosisFinding: {
            /** @description For people; the text may change. */
            words: string;
        } & ({
            code: components["schemas"]["Code"];
            /** Format: uint64 */
            count: number;
            /** @constant */
            finding: "noticed";
            level: components["schemas"]["Level"];
        } | {
            /** @constant */
            finding: "engine_untested";
        } | {
            attempt: components["schemas"]["AttemptNumber"];
            /** Format: double */
            confidence: number;
            /** @constant */
            finding: "low_confidence";
        } | {
            attempt: components["schemas"]["AttemptNumber"];
            /** @constant */
            finding: "mostly_raw";
            /** Format: uint64 */
            percent: number;
        } | {
            attempt: components["schemas"]["AttemptNumber"];
            /** @constant */
            finding: "no_output";
        } | {
            /** @constant */
            finding: "question_without_owner";
        } | {
            deadline: components["schemas"]["Timestamp"];
            /** @constant */
            finding: "deadline_passed";
        } | {
            /** @constant */
            finding: "without_owner";
        } | {
            attempt: components["schemas"]["AttemptNumber"];
            file: string;
            /** @constant */
            finding: "evidence_missing";
        } | {
            /** @constant */
            finding: "evidence_removed";
        } | {
            files: string[];
            /** @constant */
            finding: "log_torn";
        } | {
            /** @constant */
            finding: "log_damaged";
        } | {
            /** Format: uint64 */
            count: number;
            /** @constant */
            finding: "newer_events";
        } | {
            attempt: components["schemas"]["AttemptNumber"];
            /** Format: uint64 */
            count: number;
            /** @constant */
            finding: "survivors_ended";
        } | {
            check: string;
            evidence: string;
            /** @constant */
            finding: "check_failed";
            /** @description The last lines of its output. */
            output_tail?: string | null;
        } | {
            attempt: components["schemas"]["AttemptNumber"];
            /** @constant */
            finding: "disk_full";
        });
        /** @description The process that works on a run at this moment. Only the run's lock shows it, and the caller checks that. */
        DiagnosisOwner: ("nobody" | "unknown") | {
            somebody: {
                /** Format: uint32 */
                pid: number | null;
            };
        };
        /** @description A question and how it was resolved, in short. */
        DiagnosisQuestion: {
            asked_at: components["schemas"]["Timestamp"];
            deadline: components["schemas"]["Timestamp"] | null;
            interaction_id: components["schemas"]["InteractionId"];
            kind: components["schemas"]["InteractionKind"];
            on_deadline: components["schemas"]["OnDeadline"];
            /** @description Its beginning. */
            prompt: string;
            resolution: components["schemas"]["QuestionResolution"];
            /** @description `prompt` where nothing is asked: the run waits for the next prompt. */
            scope: components["schemas"]["InteractionScope"];
        };
        /** @description Something is unusual or wrong; the run may still succeed. */
        Diagnostic: {
            code: components["schemas"]["Code"];
            /**
             * Format: uint64
             * @description The number of occurrences, when one event stands for several.
             */
            count?: number | null;
            /** @description For people; the text may change between versions. */
            message: string;
            message_id?: string | null;
            sanitized?: boolean;
            spans?: components["schemas"]["SpanRef"][];
        };
        /** @description Something is unusual or wrong; the run may still succeed. */
        DiagnosticWarning: {
            code: components["schemas"]["Code"];
            /**
             * Format: uint64
             * @description The number of occurrences, when one event stands for several.
             */
            count?: number | null;
            /** @description For people; the text may change between versions. */
            message: string;
            severity: components["schemas"]["Level"];
            /** @description Further byte ranges that this is about, in addition to `raw_ref`. */
            spans?: components["schemas"]["SpanRef"][];
        };
        /** @description Files that changed, attempt by attempt. */
        Diff: {
            attempts: components["schemas"]["AttemptChanges"][];
        };
        /** @description A download link for one file. */
        Download: {
            /** @description When the link expires, one minute from now. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description Path and query, with a ticket for GET. It gives access to this file and to nothing else. */
            url: string;
        };
        /** @description Why the process of an attempt ended, as its host recorded it. */
        EndedBy: ("hard_timeout" | "stall" | "canceled" | "host_error" | "host_lost" | "not_started") | "exited" | "linger" | "wait_timeout" | "interrupted" | "budget" | "memory_limit" | "process_limit" | "cpu_limit" | "disk_limit";
        /** @description An engine and what is found of it on this machine, as data. */
        Engine: {
            consent: components["schemas"]["EngineConsent"];
            continuation: components["schemas"]["Continuation"];
            /** @description A command for the user that installs it. None: there is none, or it is part of this program. */
            install: string | null;
            login: components["schemas"]["EngineLogin"];
            /** @description The name in requests. */
            name: string;
            /** @description `shipped`, or the operator's file. */
            origin: string;
            permissions: components["schemas"]["Postures"];
            /** @description Why it cannot be used, or why its version is unknown. */
            problem: string | null;
            profile: components["schemas"]["ProfileId"];
            /** @description None when it is not installed. */
            program: string | null;
            tested: components["schemas"]["EngineTested"];
            /**
             * @description The first and the last version whose output is known to be read correctly. None: no version was ever tested, or
             *     it is part of this program.
             */
            tested_versions: string[] | null;
            /** @description The name for people. */
            title: string;
            /** @description None when it was not asked, or reports none. */
            version: string | null;
            /** @description The wrapper that would have started the program. */
            wrapper: string | null;
        };
        /** @description Whether an engine has the consent that it needs. */
        EngineConsent: {
            /** @description What to do where consent is needed and not given. */
            advice: string | null;
            given: boolean;
            /** @description Permissions under which it is not confined; none when it needs no consent. */
            needed_for: components["schemas"]["Permission"][];
        };
        /** @description A limit at which an engine itself ended its turn. */
        EngineLimit: "tokens" | "requests" | "refusal";
        /** @description All engines. */
        EngineList: {
            /** @description Files of the operator that cannot be used, each with the reason. */
            broken: string[];
            /** @description By name. */
            engines: components["schemas"]["Engine"][];
        };
        /** @description Whether the user is logged in to an engine, as far as that is known without a network. */
        EngineLogin: {
            /** @description The command that logs the user in. */
            command: string | null;
            found: components["schemas"]["LoginKind"];
            /** @description The name of the variable that is set. */
            variable: string | null;
        };
        /** @description Name of an engine as the operator writes it. */
        EngineName: string;
        /** @description Whether the output of this version is known to be read correctly. */
        EngineTested: ("tested" | "untested") | "unknown";
        /**
         * @description The part that an error belongs to, roughly; shows the user where to look.
         * @enum {string}
         */
        ErrorCategory: "usage" | "input" | "skill" | "engine" | "auth" | "quota" | "network" | "session" | "output" | "interaction" | "workflow" | "timeout" | "canceled" | "host" | "internal";
        /**
         * @description Every RASP event type.
         * @enum {string}
         */
        EventType: "run.started" | "run.status" | "run.heartbeat" | "run.completed" | "run.failed" | "run.canceled" | "message.user" | "agent.message.delta" | "agent.message.final" | "agent.reasoning.summary" | "interaction.requested" | "interaction.replied" | "interaction.timeout" | "interaction.auto_decision" | "tool.call.started" | "tool.call.completed" | "tool.call.failed" | "artifact.created" | "artifact.indexed" | "artifact.preview_ready" | "parser.warning" | "parser.error" | "engine.error" | "raw.stdout" | "raw.stderr" | "attempt.started" | "attempt.ended" | "turn.usage" | "subagent.requested" | "subagent.started" | "subagent.ended" | "workflow.started" | "workflow.step_scheduled" | "workflow.step_held" | "workflow.step_ended" | "workflow.ended" | "subagent.observed" | "check.ended";
        /** @description Whether the agent may ask the user questions, and what the end of a turn means. */
        ExecutionMode: "auto" | "interactive" | "conversation";
        /** @description How the process ended. All fields are null when that is not known. */
        Exit: {
            /** Format: int32 */
            code: number | null;
            ended_by: components["schemas"]["EndedBy"] | null;
            signal: string | null;
        };
        /** @description One check and its outcome. */
        FamilyCheck: {
            check: components["schemas"]["FamilyTopic"];
            /** @description The runs that it is about. */
            runs?: components["schemas"]["RunId"][];
            severity: components["schemas"]["CheckSeverity"];
            /** @description For people; the text may change. */
            words: string;
        };
        /** @description A run and all runs below it. */
        FamilyDiagnosis: {
            checks: components["schemas"]["FamilyCheck"][];
            run_id: components["schemas"]["RunId"];
            /** @description Each run after its parent; siblings in the order in which they were asked for. */
            runs: components["schemas"]["FamilyMember"][];
        };
        /** @description One run of a family. */
        FamilyMember: {
            /**
             * Format: uint32
             * @description 0 for the first one.
             */
            depth: number;
            /**
             * Format: uint64
             * @description The event of its own Log that `ended` follows from.
             */
            end_seq?: number | null;
            /** @description How it has ended by its own Log, as it counts for its parent; null while it has not ended. */
            ended: components["schemas"]["SubagentStatus"] | null;
            engine: string;
            log: components["schemas"]["MemberLog"];
            /** @description The run above it in this diagnosis; null for the first one. */
            parent: components["schemas"]["RunId"] | null;
            /** @description What the Log of its parent says of its end; null while the parent says nothing. */
            parent_says: components["schemas"]["SubagentStatus"] | null;
            /** @description The parent says `detached`, and its own Log how it ended. */
            reconciled: boolean;
            run_id: components["schemas"]["RunId"];
            /** @description By its own Log; null where that cannot be read. */
            status: components["schemas"]["RunStatus"] | null;
            /** @description The name of the skill, or the beginning of the prompt. */
            title: string;
        };
        /** @description What is checked of a family. */
        FamilyTopic: "missing_fields" | "stale_children" | "timeouts" | "orphans" | "detached";
        /** @description One event of a conversation, FCMP: everything that a frontend needs. */
        FcmpEvent: {
            correlation: components["schemas"]["Correlation"];
            /** @description Its shape depends on `type`. */
            data: unknown;
            engine: components["schemas"]["EngineName"];
            meta: components["schemas"]["Meta"];
            /** @constant */
            protocol_version: "fcmp/1.0";
            raw_ref: components["schemas"]["RawRef"];
            run_id: components["schemas"]["RunId"];
            /** @description Counts the events of the conversation from 1, without gaps. */
            seq: number;
            /** @description The engine's id of the session. */
            session_id: string | null;
            ts: components["schemas"]["Timestamp"];
            type: components["schemas"]["FcmpType"];
        } & ({
            data: components["schemas"]["ConversationStarted"];
            /** @constant */
            type: "conversation.started";
        } | {
            data: components["schemas"]["ConversationStatus"];
            /** @constant */
            type: "conversation.status";
        } | {
            data: components["schemas"]["TurnStarted"];
            /** @constant */
            type: "turn.started";
        } | {
            data: components["schemas"]["UserMessageToShow"];
            /** @constant */
            type: "user.message";
        } | {
            data: components["schemas"]["SubagentStartedToShow"];
            /** @constant */
            type: "subagent.started";
        } | {
            data: components["schemas"]["SubagentEndedToShow"];
            /** @constant */
            type: "subagent.ended";
        } | {
            data: components["schemas"]["StepStartedToShow"];
            /** @constant */
            type: "step.started";
        } | {
            data: components["schemas"]["StepEndedToShow"];
            /** @constant */
            type: "step.ended";
        } | {
            data: components["schemas"]["WorkflowEndedToShow"];
            /** @constant */
            type: "workflow.ended";
        } | {
            data: components["schemas"]["SubagentObserved"];
            /** @constant */
            type: "subagent.observed";
        } | {
            data: components["schemas"]["CheckEndedToShow"];
            /** @constant */
            type: "check.ended";
        } | {
            data: components["schemas"]["AssistantDelta"];
            /** @constant */
            type: "assistant.message.delta";
        } | {
            data: components["schemas"]["AssistantFinal"];
            /** @constant */
            type: "assistant.message.final";
        } | {
            data: components["schemas"]["AssistantReasoning"];
            /** @constant */
            type: "assistant.reasoning";
        } | {
            data: components["schemas"]["AssistantToolCall"];
            /** @constant */
            type: "assistant.tool_call";
        } | {
            data: components["schemas"]["TurnEnded"];
            /** @constant */
            type: "turn.ended";
        } | {
            data: components["schemas"]["Interaction"];
            /** @constant */
            type: "user.input.required";
        } | {
            data: components["schemas"]["UserInputReplied"];
            /** @constant */
            type: "user.input.replied";
        } | {
            data: components["schemas"]["AutoDecided"];
            /** @constant */
            type: "interaction.auto_decided";
        } | {
            data: components["schemas"]["TimedOut"];
            /** @constant */
            type: "interaction.timed_out";
        } | {
            data: components["schemas"]["ArtifactToShow"];
            /** @constant */
            type: "artifact.created";
        } | {
            data: components["schemas"]["DiagnosticWarning"];
            /** @constant */
            type: "diagnostic.warning";
        } | {
            data: components["schemas"]["RawLine"];
            /** @constant */
            type: "raw.stdout";
        } | {
            data: components["schemas"]["RawLine"];
            /** @constant */
            type: "raw.stderr";
        } | {
            data: components["schemas"]["ConversationEnded"];
            /** @constant */
            type: "conversation.completed";
        } | {
            data: components["schemas"]["ConversationEnded"];
            /** @constant */
            type: "conversation.failed";
        } | {
            data: components["schemas"]["ConversationEnded"];
            /** @constant */
            type: "conversation.canceled";
        });
        /**
         * @description Every FCMP event type.
         * @enum {string}
         */
        FcmpType: "conversation.started" | "conversation.status" | "turn.started" | "user.message" | "subagent.started" | "subagent.ended" | "step.started" | "step.ended" | "workflow.ended" | "subagent.observed" | "check.ended" | "assistant.message.delta" | "assistant.message.final" | "assistant.reasoning" | "assistant.tool_call" | "turn.ended" | "user.input.required" | "user.input.replied" | "interaction.auto_decided" | "interaction.timed_out" | "artifact.created" | "diagnostic.warning" | "raw.stdout" | "raw.stderr" | "conversation.completed" | "conversation.failed" | "conversation.canceled";
        /** @description One invalid field. */
        FieldError: {
            /** @description The location of the field, such as `input.count` or `query.limit`. */
            field: string;
            /** @description What is wrong with the field. */
            message: string;
        };
        /**
         * @description What was done to a file.
         * @enum {string}
         */
        FileChange: "created" | "modified" | "deleted";
        /** @description The kind of a path. */
        FileKind: ("file" | "folder" | "symlink" | "pipe" | "socket" | "char_device" | "block_device") | "unknown";
        /** @description What was at a path. A fact that its kind does not have, or that could not be read, is none. */
        FileVersion: {
            /** @description Why it could not be read. */
            error?: string | null;
            /** @description blake3. None when it was beyond the limits of the snapshot. */
            hash?: string | null;
            kind: components["schemas"]["FileKind"];
            /** @description Permission bits, octal. */
            mode?: string | null;
            /** Format: int64 */
            mtime_ns?: number | null;
            /** Format: uint64 */
            size?: number | null;
            /** @description Where a link leads. */
            target?: components["schemas"]["OsText"] | null;
        };
        /** @description Why a step waits for a decision of the user. */
        HoldReason: "before" | "after" | "failure";
        /** @description The engine's home folder. */
        HomeChoice: "user" | "run";
        /** @description A host that can be reached: a name, an address or `*.NAME`, and a port after a colon; without one 443 and 80. */
        HostPattern: string;
        /** @description A question that is waiting for an answer. */
        Interaction: {
            /** @description What the agent said in addition to the question; the shape is not guaranteed. */
            context: unknown;
            /** @description Null: the question waits indefinitely. */
            deadline: components["schemas"]["Timestamp"] | null;
            default_decision_policy: components["schemas"]["DecisionPolicy"];
            /** @description Send it back with the answer. */
            interaction_id: components["schemas"]["InteractionId"];
            kind: components["schemas"]["InteractionKind"];
            on_deadline: components["schemas"]["OnDeadline"];
            /** @description The options offered; any other answer is allowed too. */
            options: components["schemas"]["AskOption"][];
            policy_source: components["schemas"]["PolicySource"];
            /** @description The question, in the agent's words. */
            prompt: string;
            scope: components["schemas"]["InteractionScope"];
            /** @description The attempt that asked the question. */
            source_attempt: components["schemas"]["AttemptNumber"];
            /** @description What the agent said about how to show the question; the shape is not guaranteed. */
            ui_hints: unknown;
        };
        /**
         * Format: uint32
         * @description One question put to the user, numbered from 1 within the run.
         */
        InteractionId: number;
        /**
         * @description How a question is best answered. Advice only; a reply is free text.
         * @enum {string}
         */
        InteractionKind: "choose_one" | "confirm" | "fill_fields" | "open_text" | "risk_ack";
        /** @description Questions of one run. */
        InteractionList: {
            interactions: components["schemas"]["Asked"][];
        };
        /** @description A question was answered. */
        InteractionReplied: {
            /** @description BLAKE3 of each of these files, by name. */
            file_hashes?: {
                [key: string]: string;
            };
            files: string[];
            interaction_id: components["schemas"]["InteractionId"];
            resolution_mode: components["schemas"]["ResolutionMode"];
            text: string;
        };
        /**
         * @description `turn` ends the attempt, and its reply starts the next one; `call` is a question inside a turn; `prompt` is not
         *     a question: the run rests until the user sends the next prompt, which starts the next attempt. `step` asks for a
         *     decision about a step of a workflow.
         * @enum {string}
         */
        InteractionScope: "turn" | "call" | "prompt" | "step";
        /** @description The deadline of a question has passed. */
        InteractionTimeout: {
            deadline: components["schemas"]["Timestamp"] | null;
            /** @description No policy decides the question: the run fails with this code as soon as its attempt is over. */
            fails_with?: components["schemas"]["Code"] | null;
            interaction_id: components["schemas"]["InteractionId"];
        };
        /** @description What follows an interrupt. */
        InterruptRun: {
            /** @description The next prompt, which is sent as soon as the turn is interrupted. Null: the run waits for it. */
            say?: string | null;
        };
        /** @description The outcome of a try. */
        LastTry: {
            at: components["schemas"]["Timestamp"];
            /** @description Why there is no response. */
            error?: string | null;
            /**
             * Format: uint16
             * @description The status the receiver responded with.
             */
            status?: number | null;
        };
        /** @description An entry that a copy lacks. */
        LeftOut: {
            path: components["schemas"]["OsText"];
            why: string;
        };
        /**
         * @description The severity.
         * @enum {string}
         */
        Level: "info" | "warning" | "error";
        /**
         * @description A position in a Log: its last event, and the hash of that event's line. Every line carries the hash of the line
         *     before it, so this hash vouches for the whole Log up to that point.
         */
        LogHead: {
            /** @description BLAKE3 of the line without its line end, 64 hexadecimal digits. */
            hash: string;
            /** Format: uint64 */
            seq: number;
        };
        /** @description Where a login was found. */
        LoginKind: ("variable" | "nothing") | "file" | "not_needed";
        /** @description A server as it is written: a program with `command`, or an address with `url`. */
        McpServer: {
            /** @description The arguments of the program. */
            args?: string[];
            /** @description The program of a server that the engine starts. */
            command?: string | null;
            /**
             * @description Variables of the program. `${NAME}` in a value stands for a variable of the user, which is passed to the engine
             *     and masked.
             */
            env?: {
                [key: string]: string;
            };
            /**
             * @description Headers of each request. `${NAME}` in a value stands for a variable of the user, which is passed to the engine and
             *     masked.
             */
            headers?: {
                [key: string]: string;
            };
            /** @description Whether the run fails when the engine reports that this server did not start. */
            required?: boolean;
            /**
             * Format: double
             * @description The engine ends a call that takes longer; null: the engine's own limit.
             */
            timeout_sec?: number | null;
            /** @description May be left out. */
            type?: components["schemas"]["McpServerType"] | null;
            /** @description The address of a server that is running. */
            url?: string | null;
        };
        /** @description MCP servers by name: lower-case letters, digits and dashes. */
        McpServers: {
            [key: string]: components["schemas"]["McpServer"];
        };
        /**
         * @description How a server is reached, where the entry says so.
         * @enum {string}
         */
        McpServerType: "stdio" | "http";
        /** @description Whether the Log of a member could be read. */
        MemberLog: ("read" | "removed") | "not_made" | "unreadable";
        /** @description A further piece of a message that is not complete yet. */
        MessageDelta: {
            message_id: string;
            sanitized?: boolean;
            text: string;
        };
        /** @description A message of the agent. */
        MessageFinal: {
            message_id: string;
            /** @description The message was cut off: deltas arrived, but no end. */
            partial: boolean;
            /** @description Control characters were removed from the text; the raw range has the original. */
            sanitized?: boolean;
            spans?: components["schemas"]["SpanRef"][];
            /**
             * @description The JSON object of a message that is one JSON object, or that contains exactly one, alone in a code fence;
             *     without the done marker. Absent where it is larger than 64 KiB or is a question.
             */
            structured_payload?: {
                [key: string]: unknown;
            } | null;
            text: string;
            /** @description Only the beginning of the text is here; the range is exact. */
            truncated?: boolean;
        };
        /** @description What composed a message to the agent. */
        MessageOrigin: "user" | "skill" | "policy" | "orchestrator";
        /**
         * @description What a message is about.
         * @enum {string}
         */
        MessageType: "run.completed" | "run.failed" | "run.canceled" | "run.waiting_user";
        /** @description Where an event of the conversation comes from. */
        Meta: {
            attempt: components["schemas"]["AttemptNumber"];
            /**
             * Format: double
             * @description 1.0 is an exact parse, below 0.7 is a guess.
             */
            confidence: number;
            /**
             * Format: uint64
             * @description The RASP event this one was made from.
             */
            rasp_seq: number;
        };
        /** @description When something happened. */
        Moment: {
            /**
             * Format: uint64
             * @description Since the previous moment.
             */
            after_ms: number;
            at: components["schemas"]["Timestamp"];
            attempt: components["schemas"]["AttemptNumber"] | null;
            what: components["schemas"]["MomentKind"];
        };
        /** @description The kinds of moments. */
        MomentKind: ("created" | "attempt_started" | "first_output" | "last_output" | "attempt_settled" | "asked" | "answered" | "not_answered" | "cancel_asked" | "interrupt_asked" | "close_asked" | "ended") | "rested" | "prompted";
        /** @description What the processes of a run reach over the network. */
        NetworkAccess: "open" | "model" | "list" | "none";
        /** @description A next action with the command to run. */
        NextAction: {
            action: components["schemas"]["NextActionKind"];
            command: string;
        };
        /**
         * @description What the user can do next.
         * @enum {string}
         */
        NextActionKind: "reply" | "close" | "retry" | "retry_later" | "retry_other_engine" | "choose_model" | "raise_timeout" | "raise_max_attempt" | "fix_output" | "fix_skill" | "fix_input" | "login_engine" | "install_engine" | "inspect_evidence" | "diagnose" | "free_disk" | "retry_failed_steps" | "show_workflow";
        /** @description A change that is not applied. */
        NotApplied: {
            path: components["schemas"]["OsText"];
            why: string;
        };
        /** @description What happens when the deadline passes. */
        OnDeadline: ("wait" | "auto_reply" | "fail_run") | "hold_step";
        /** @description What becomes of a child that still works when its parent ends. Children of a canceled run are always canceled. */
        OnParentEnd: "cancel" | "detach" | "wait";
        /** @description What happens to a run whose engine has no quota left. */
        OnQuota: "fail" | "wait";
        /** @description What happens to the workflow when a step has not become ready. */
        OnStepFailure: "stop" | "continue" | "hold";
        /** @description Questions of all runs. */
        OpenInteractionList: {
            interactions: components["schemas"]["WaitingRun"][];
            /** @description The `cursor` of the next page; null when there is none. */
            next_cursor: string | null;
            /**
             * Format: uint64
             * @description The number of pending questions on all pages.
             */
            total: number;
        };
        /** @description A path, an argument or a variable: text where it is UTF-8, else its bytes in hexadecimal. */
        OsText: string | {
            hex: string;
        };
        /**
         * @description Events in columns: the values at one index describe one event. There may be fewer events than requested; continue
         *     with `from_seq` after the last one until `last_seq` is reached.
         */
        Outline: {
            /** @description The attempt of each event; 0 before the first attempt. */
            attempts: number[];
            /**
             * Format: uint32
             * @description Changes when events were lost that a client may have seen.
             */
            epoch: number;
            /**
             * Format: uint64
             * @description The seq of the first event in this response; the seqs of the others follow without gaps. If there are no events,
             *     the requested `from_seq`.
             */
            first_seq: number;
            /** @description The groups that the events in this response belong to. */
            groups: components["schemas"]["OutlineGroup"][];
            /** @description The group of each event, as an index into `groups`; null if it belongs to none. */
            groups_of: (number | null)[];
            /**
             * Format: uint64
             * @description The seq of the last event the run has at this moment.
             */
            last_seq: number;
            /** @description The level of each event: 0 info, 1 warning, 2 error. */
            levels: number[];
            /** @description The event types that occur in this response. */
            names: components["schemas"]["EventType"][];
            /** @description The time of each event, in milliseconds since 1970. */
            ts: number[];
            /** @description The type of each event, as an index into `names`. */
            types: number[];
        };
        /** @description A group of related events. */
        OutlineGroup: {
            /** @description The id, as in the correlation of the events. */
            id: string;
            kind: components["schemas"]["OutlineGroupKind"];
        };
        /**
         * @description The kind of a group of events.
         * @enum {string}
         */
        OutlineGroupKind: "tool_call" | "interaction" | "artifact";
        /** @description How much the engine wrote, as far as the Log has it. */
        OutputBytes: {
            /**
             * Format: uint64
             * @description Of both, what could not be read as the engine's format.
             */
            raw: number;
            /** Format: uint64 */
            stderr: number;
            /** Format: uint64 */
            stdout: number;
        };
        /** @description The members after the events of a page. */
        PageFoot: {
            /** @description The cursor with which a stream continues after this page. */
            cursor: string;
            /**
             * Format: uint32
             * @description Changes when events were lost that a client may have seen.
             */
            epoch: number;
            /**
             * Format: uint64
             * @description The seq of the last event the run has at this moment.
             */
            last_seq: number;
            /** @description The `cursor` of the next page; null when there is none. */
            next_cursor: string | null;
        };
        /** @description The run that has asked for another one. */
        ParentLink: {
            /** @description The attempt that has asked. */
            attempt: components["schemas"]["AttemptNumber"];
            /** @description The tool call of the parent that has asked, if it is known. */
            call_id?: string | null;
            /**
             * Format: uint32
             * @description 1 for a child of the run at the top.
             */
            depth: number;
            /** @description The run at the top, which has no parent. */
            root: components["schemas"]["RunId"];
            run_id: components["schemas"]["RunId"];
            /** @description The step of the parent, where that is a workflow. */
            step_id?: components["schemas"]["StepId"] | null;
        };
        /** @description How the lines of an attempt were read, as recorded in `meta.N.json`. */
        ParseFigures: {
            /**
             * Format: double
             * @description Mean of the confidences, weighted by bytes: 1.0 is an exact parse, below 0.7 is a guess.
             */
            confidence: number;
            /**
             * Format: uint64
             * @description Lines whose meaning was inferred.
             */
            inferred: number;
            /**
             * Format: uint64
             * @description Lines that were read exactly.
             */
            matched: number;
            /**
             * Format: uint64
             * @description Lines that were kept as they are.
             */
            raw: number;
            /**
             * Format: uint64
             * @description Lines in the engine's format that have no known type.
             */
            unknown: number;
            /** @description The unknown ones by their type. */
            unknown_types: {
                [key: string]: number;
            };
        };
        /** @description What enforces a part of the report. */
        PartMechanism: "namespaces" | "landlock" | "cgroup" | "watched";
        /** @description Bytes that a decision was based on. */
        Passage: {
            /** @description Its beginning; none where the file cannot be read. */
            excerpt: string | null;
            /** @description In `.audit`. */
            file: string;
            /** Format: uint64 */
            from: number;
            /** Format: uint64 */
            to: number;
            what: components["schemas"]["PassageKind"];
        };
        /** @description What the bytes are. */
        PassageKind: ("marker" | "answer") | "end";
        /** @description A skill with the rules that are added to it in a run. `RUN` stands for the id that the run will have. */
        PatchedSkill: {
            /**
             * Format: uint
             * @description From this line on nothing is the skill's own.
             */
            added_from_line: number;
            /** @description In the order in which they stand. */
            layers: components["schemas"]["AddedLayer"][];
            mode: components["schemas"]["ExecutionMode"];
            name: string;
            /** @description The first message to the engine, with its placeholders; a run adds input, parameter and files. */
            prompt: string;
            text: string;
        };
        /** @description What an engine may do without asking. */
        Permission: "read_only" | "workspace" | "full";
        /** @description What a `run.status` made from engine output reports; a closed list, and not a state of the run. */
        Phase: ("session_started" | "input_received" | "turn_started" | "turn_completed" | "turn_failed" | "step_started" | "step_finished" | "planning" | "streaming" | "retrying" | "working" | "subagent" | "canceling" | "interrupting" | "closing" | "process_ended") | "time_up" | "checking";
        /** @description One input of a workflow. */
        PlannedInput: {
            /** @description Absent: the input must be given. */
            default?: unknown;
            description?: string | null;
            /** @description A JSON Schema. */
            schema?: unknown;
        };
        /** @description A new run with the same request, which waits for the engine's quota. */
        PlannedRetry: {
            not_before: components["schemas"]["Timestamp"];
            run_id: components["schemas"]["RunId"];
        };
        /** @description A workflow before it begins. */
        PlannedWorkflow: {
            description?: string | null;
            /** @description What it is given, by name. */
            inputs: {
                [key: string]: components["schemas"]["PlannedInput"];
            };
            name: string;
            steps: components["schemas"]["StepView"][];
        };
        /**
         * @description Who set the policy: the first of these that did.
         * @enum {string}
         */
        PolicySource: "request" | "skill" | "model" | "default";
        /** @description Whether an engine is held to a permission. */
        Posture: "enforced" | "asked" | "not_enforced";
        /** @description Whether the engine enforces each permission. */
        Postures: {
            full: components["schemas"]["Posture"];
            read_only: components["schemas"]["Posture"];
            workspace: components["schemas"]["Posture"];
        };
        /** @description How a file can be shown without another program. */
        PreviewKind: ("markdown" | "json" | "image") | "text";
        /** @description The body of every response that reports a problem. */
        Problem: {
            code: components["schemas"]["ProblemCode"];
            /** @description The current state of the run, if the request referred to an earlier state. */
            current?: unknown;
            /** @description One sentence: what is wrong and what to do. */
            detail: string;
            /** @description The invalid fields; omitted when there are none. */
            errors?: components["schemas"]["FieldError"][];
            /** @description What to do about the problem. */
            next_action: string;
            /** @description Whether the same request may succeed later. */
            retryable: boolean;
            /** @description The run the problem is about. */
            run_id?: components["schemas"]["RunId"] | null;
            /**
             * Format: uint16
             * @description The HTTP status.
             */
            status: number;
            /** @description The reason phrase of the HTTP status. */
            title: string;
            /** @description Always `about:blank`: `code` identifies the problem. */
            type: string;
        };
        /** @description Every problem the service can report. */
        ProblemCode: ("UNAUTHORIZED" | "FORBIDDEN" | "HOST_REFUSED" | "ORIGIN_REFUSED" | "NOT_FOUND" | "RUN_NOT_FOUND" | "EVIDENCE_REMOVED" | "SKILL_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "RUN_OVER" | "NOT_YET" | "SKILL_EXISTS" | "WORKSPACE_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "SKILL_INVALID" | "WEBHOOK_ADDRESS_REFUSED" | "BODY_TOO_LARGE" | "BODY_TOO_SLOW" | "UNSUPPORTED_MEDIA_TYPE" | "RANGE_NOT_SATISFIABLE" | "QUEUE_FULL" | "TOO_MANY_STREAMS" | "STOPPING" | "DISK_FULL" | "OWNER_SILENT" | "INTERNAL") | "INVALID_REQUEST" | "RUN_REMOVED" | "ARTIFACT_CHANGED" | "STALE_INTERACTION" | "WRONG_STATE" | "OTHER_VARIABLES" | "APPLY_CONFLICT" | "CURSOR_RESET" | "CANNOT_RUN" | "INPUT_INVALID" | "TOO_MANY_REQUESTS";
        /**
         * @description A stream format and the rules to read it.
         * @enum {string}
         */
        ProfileId: "codex_ndjson" | "gemini_stream_json" | "gemini_json" | "opencode_ndjson" | "claude_stream_json" | "qwen_stream_json" | "iflow_text" | "plain_text" | "acp_jsonrpc";
        /** @description How a question was resolved. */
        QuestionResolution: {
            /** @constant */
            is: "open";
        } | {
            at: components["schemas"]["Timestamp"];
            /** @constant */
            is: "answered";
            mode: components["schemas"]["ResolutionMode"];
        } | {
            at: components["schemas"]["Timestamp"];
            fails_with: components["schemas"]["Code"];
            /** @constant */
            is: "timed_out";
        } | {
            /** @constant */
            is: "closed";
        };
        /** @description One event of a run, RASP: nothing is left out, and `raw_ref` gives the bytes that it was made from. */
        RaspEvent: {
            attempt_number: components["schemas"]["AttemptNumber"];
            correlation: components["schemas"]["Correlation"];
            /** @description Its shape depends on `event.type`. */
            data: unknown;
            event: components["schemas"]["RaspKind"];
            /** @description BLAKE3 of the line before this one in the Log, without its line end; in the first line that of the run's id. Absent in events that are not from a Log, and in Logs of older versions. */
            prev?: string;
            /** @constant */
            protocol_version: "rasp/1.0";
            raw_ref: components["schemas"]["RawRef"];
            run_id: components["schemas"]["RunId"];
            /** @description Counts the events of the run from 1, without gaps. */
            seq: number;
            source: components["schemas"]["RaspSource"];
            ts: components["schemas"]["Timestamp"];
        } & ({
            data: components["schemas"]["RunStarted"];
            event: {
                /** @constant */
                category: "lifecycle";
                /** @constant */
                type: "run.started";
            };
        } | {
            data: components["schemas"]["RunStatusChange"];
            event: {
                /** @constant */
                category: "lifecycle";
                /** @constant */
                type: "run.status";
            };
        } | {
            data: components["schemas"]["RunHeartbeat"];
            event: {
                /** @constant */
                category: "lifecycle";
                /** @constant */
                type: "run.heartbeat";
            };
        } | {
            data: components["schemas"]["RunCompleted"];
            event: {
                /** @constant */
                category: "lifecycle";
                /** @constant */
                type: "run.completed";
            };
        } | {
            data: components["schemas"]["RunFailed"];
            event: {
                /** @constant */
                category: "lifecycle";
                /** @constant */
                type: "run.failed";
            };
        } | {
            data: components["schemas"]["RunCanceled"];
            event: {
                /** @constant */
                category: "lifecycle";
                /** @constant */
                type: "run.canceled";
            };
        } | {
            data: components["schemas"]["UserMessage"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "message.user";
            };
        } | {
            data: components["schemas"]["MessageDelta"];
            event: {
                /** @constant */
                category: "agent";
                /** @constant */
                type: "agent.message.delta";
            };
        } | {
            data: components["schemas"]["MessageFinal"];
            event: {
                /** @constant */
                category: "agent";
                /** @constant */
                type: "agent.message.final";
            };
        } | {
            data: components["schemas"]["ReasoningSummary"];
            event: {
                /** @constant */
                category: "agent";
                /** @constant */
                type: "agent.reasoning.summary";
            };
        } | {
            data: components["schemas"]["Interaction"];
            event: {
                /** @constant */
                category: "interaction";
                /** @constant */
                type: "interaction.requested";
            };
        } | {
            data: components["schemas"]["InteractionReplied"];
            event: {
                /** @constant */
                category: "interaction";
                /** @constant */
                type: "interaction.replied";
            };
        } | {
            data: components["schemas"]["InteractionTimeout"];
            event: {
                /** @constant */
                category: "interaction";
                /** @constant */
                type: "interaction.timeout";
            };
        } | {
            data: components["schemas"]["AutoDecision"];
            event: {
                /** @constant */
                category: "interaction";
                /** @constant */
                type: "interaction.auto_decision";
            };
        } | {
            data: components["schemas"]["ToolCallStarted"];
            event: {
                /** @constant */
                category: "tool";
                /** @constant */
                type: "tool.call.started";
            };
        } | {
            data: components["schemas"]["ToolCallCompleted"];
            event: {
                /** @constant */
                category: "tool";
                /** @constant */
                type: "tool.call.completed";
            };
        } | {
            data: components["schemas"]["ToolCallFailed"];
            event: {
                /** @constant */
                category: "tool";
                /** @constant */
                type: "tool.call.failed";
            };
        } | {
            data: components["schemas"]["ArtifactCreated"];
            event: {
                /** @constant */
                category: "artifact";
                /** @constant */
                type: "artifact.created";
            };
        } | {
            data: components["schemas"]["ArtifactIndexed"];
            event: {
                /** @constant */
                category: "artifact";
                /** @constant */
                type: "artifact.indexed";
            };
        } | {
            data: components["schemas"]["ArtifactPreviewReady"];
            event: {
                /** @constant */
                category: "artifact";
                /** @constant */
                type: "artifact.preview_ready";
            };
        } | {
            data: components["schemas"]["Diagnostic"];
            event: {
                /** @constant */
                category: "diagnostic";
                /** @constant */
                type: "parser.warning";
            };
        } | {
            data: components["schemas"]["Diagnostic"];
            event: {
                /** @constant */
                category: "diagnostic";
                /** @constant */
                type: "parser.error";
            };
        } | {
            data: components["schemas"]["Diagnostic"];
            event: {
                /** @constant */
                category: "diagnostic";
                /** @constant */
                type: "engine.error";
            };
        } | {
            data: components["schemas"]["RawText"];
            event: {
                /** @constant */
                category: "raw";
                /** @constant */
                type: "raw.stdout";
            };
        } | {
            data: components["schemas"]["RawText"];
            event: {
                /** @constant */
                category: "raw";
                /** @constant */
                type: "raw.stderr";
            };
        } | {
            data: components["schemas"]["AttemptStarted"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "attempt.started";
            };
        } | {
            data: components["schemas"]["AttemptEnded"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "attempt.ended";
            };
        } | {
            data: components["schemas"]["TurnUsage"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "turn.usage";
            };
        } | {
            data: components["schemas"]["SubagentRequested"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "subagent.requested";
            };
        } | {
            data: components["schemas"]["SubagentStarted"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "subagent.started";
            };
        } | {
            data: components["schemas"]["SubagentEnded"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "subagent.ended";
            };
        } | {
            data: components["schemas"]["WorkflowStarted"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "workflow.started";
            };
        } | {
            data: components["schemas"]["StepScheduled"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "workflow.step_scheduled";
            };
        } | {
            data: components["schemas"]["StepHeld"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "workflow.step_held";
            };
        } | {
            data: components["schemas"]["StepEnded"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "workflow.step_ended";
            };
        } | {
            data: components["schemas"]["WorkflowEnded"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "workflow.ended";
            };
        } | {
            data: components["schemas"]["SubagentObserved"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "subagent.observed";
            };
        } | {
            data: components["schemas"]["CheckEnded"];
            event: {
                /** @constant */
                category: "runtime";
                /** @constant */
                type: "check.ended";
            };
        });
        /** @description What an event is. */
        RaspKind: {
            category: components["schemas"]["Category"];
            level: components["schemas"]["Level"];
            type: components["schemas"]["EventType"];
        };
        /** @description Where an event comes from. */
        RaspSource: {
            /**
             * Format: double
             * @description 1.0 is an exact parse, below 0.7 is a guess.
             */
            confidence: number;
            engine: components["schemas"]["EngineName"];
            /** @description The profile that read the bytes; none for control events. */
            parser: components["schemas"]["ProfileId"] | null;
            stream: components["schemas"]["SourceStream"];
        };
        /** @description A line of engine output that no rule understands, or, by their number and range, many such lines in a row. */
        RawLine: {
            /**
             * Format: uint64
             * @description Number of lines when the event stands for lines of a long row.
             */
            lines?: number | null;
            /** @description Null when the line was too long, or one of many in a row; the range still covers it. */
            text: string | null;
        };
        /** @description Half-open byte ranges in the attempt's evidence files, the hull per stream; `0,0` where there is none. */
        RawRef: {
            /** Format: uint64 */
            stderr_from: number;
            /** Format: uint64 */
            stderr_to: number;
            /** Format: uint64 */
            stdout_from: number;
            /** Format: uint64 */
            stdout_to: number;
        };
        /** @description A line of engine output that no rule understands, or, by their number and range, many such lines in a row. */
        RawText: {
            /**
             * Format: uint64
             * @description Number of lines when the event stands for lines of a long row; blank lines before a line belong to it.
             */
            lines?: number | null;
            sanitized?: boolean;
            /** @description The line without its terminator; absent when it is too long, or one of many in a row. */
            text?: string | null;
            /** @description The range covers more than the text. */
            truncated?: boolean;
            /** @description How many of these lines look like the engine's format, by their unknown type; the other lines do not. */
            unknown_types?: {
                [key: string]: number;
            };
        };
        /** @description A summary of the agent's reasoning. */
        ReasoningSummary: {
            sanitized?: boolean;
            text: string;
            truncated?: boolean;
        };
        /**
         * @description What precedes the user's own text in a message that begins another session of the same run, because the one before it
         *     was lost: the replay of the run.
         */
        ReplayedHistory: {
            /**
             * Format: uint64
             * @description The length of the replay: the user's own text begins at this byte of the exact text.
             */
            bytes: number;
            /** @description The hash of the replay up to that turn. */
            hash: string;
            /** @description What the message does not have. */
            left_out: components["schemas"]["ReplayLeftOutCount"][];
            /**
             * Format: uint64
             * @description The event that ended the last turn of the replay.
             */
            seq: number;
        };
        /** @description A turn that is over. */
        ReplayedTurn: {
            /**
             * Format: uint64
             * @description The event that ended the turn.
             */
            end_seq: number;
            /**
             * @description Identifies the items of this turn and of all turns before it: BLAKE3 of the hash before it and of the turn's
             *     items as JSON. A turn without items has the hash before it.
             */
            hash: string;
            items: components["schemas"]["ReplayItem"][];
            left_out: components["schemas"]["ReplayLeftOutCount"][];
            state: components["schemas"]["TurnState"];
            turn: components["schemas"]["AttemptNumber"];
        };
        /** @description How close a replay is to what the model has received. */
        ReplayFidelity: "exact" | "shown";
        /** @description One part of a conversation, independent of any API. `truncated` marks a part of which the Log has only the beginning. */
        ReplayItem: {
            origin: components["schemas"]["MessageOrigin"];
            text: string;
            truncated?: boolean;
            /** @constant */
            type: "user";
        } | {
            /** @description The answer of its turn; the other messages are texts on the way to it. */
            answer?: boolean;
            text: string;
            truncated?: boolean;
            /** @constant */
            type: "agent";
        } | {
            /** @description As the engine wrote it; engines may use an id again in a later turn. */
            id: string;
            /** @description As the engine wrote it. */
            input?: unknown;
            name: string;
            truncated?: boolean;
            /** @constant */
            type: "tool_call";
        } | {
            id: string;
            outcome: components["schemas"]["ToolOutcome"];
            output: string;
            truncated?: boolean;
            /** @constant */
            type: "tool_result";
        } | {
            run_id: components["schemas"]["RunId"];
            status: components["schemas"]["SubagentStatus"];
            /** @description In the form of every such item, with the answer of the child quoted as data. */
            text: string;
            /** @constant */
            type: "child";
        };
        /** @description Why a part of the Log is not replayed. */
        ReplayLeftOut: "partial_message" | "voided_message" | "empty_message" | "text_of_broken_turn" | "reasoning" | "open_call" | "result_without_call" | "refused_turn" | "open_turn" | "earlier_turn";
        /** @description How many parts were left out for one reason. */
        ReplayLeftOutCount: {
            /** Format: uint64 */
            count: number;
            reason: components["schemas"]["ReplayLeftOut"];
        };
        /** @description A notice, and how often it applies. */
        ReplayNotice: {
            /** Format: uint64 */
            count: number;
            kind: components["schemas"]["ReplayNoticeKind"];
            /**
             * Format: uint64
             * @description The first event that it is about.
             */
            seq: number;
        };
        /** @description Something about a replay that its reader has to know. */
        ReplayNoticeKind: "user_message_missing" | "user_message_unreadable" | "newer_event" | "damaged_log";
        /** @description The replay of a run. */
        ReplayView: {
            fidelity: components["schemas"]["ReplayFidelity"];
            /** @description The hash of the last turn; that of no bytes where there is none. */
            hash: string;
            /** @description Of all turns, including a turn that is not over. */
            left_out: components["schemas"]["ReplayLeftOutCount"][];
            notices: components["schemas"]["ReplayNotice"][];
            /**
             * @description The items in the requested dialect: a text, or an object with a member of the request to an API. Absent if no
             *     dialect was requested.
             */
            rendered?: unknown;
            run_id: components["schemas"]["RunId"];
            turns: components["schemas"]["ReplayedTurn"][];
        };
        /** @description An answer: free text, whatever the kind of question. */
        Reply: {
            /** @description A repeated request with the same key has no second effect. */
            idempotency_key?: string | null;
            /** @description The id of the question being answered. */
            interaction_id: components["schemas"]["InteractionId"];
            /** @description The answer, or the `value` of an option. */
            text: string;
        };
        /** @description An answer with files: parts of a form. */
        ReplyForm: {
            /** @description Any number of files. */
            files?: string[];
            /** @description The request as JSON, as when it is sent without files. */
            request: components["schemas"]["Reply"];
        };
        /** @description The copy of a folder, as it was made. */
        RequestCopy: {
            /** Format: uint64 */
            bytes: number;
            /**
             * Format: uint64
             * @description Files and links.
             */
            files: number;
            kind: components["schemas"]["CopiedFrom"];
            /** @description Entries that the copy lacks, other than ignored files; the first of them. */
            left_out: components["schemas"]["LeftOut"][];
            /**
             * Format: uint64
             * @description The number of all of them.
             */
            left_out_count: number;
        };
        /** @description The engine as it was when the run was accepted. */
        RequestEngine: {
            name: string;
            /** @description Whether the permission of the run is enforced, by the engine or by a box. */
            posture: components["schemas"]["Posture"];
            /** @description Null when the engine reported none. */
            version: string | null;
        };
        /** @description A file sent with the request. */
        RequestFile: {
            name: string;
            /**
             * Format: uint64
             * @description Null when the file no longer exists.
             */
            size: number | null;
            slot: string;
        };
        /** @description The skill as it was when the run was accepted. */
        RequestSkill: {
            /** @description blake3 of all its files. */
            hash: string;
            name: string;
            version: string | null;
        };
        /** @description A folder of the user in which the engine works, or of which it has a copy. */
        RequestWorkspace: {
            /** @description Null: the engine works in the folder itself. */
            copy: components["schemas"]["RequestCopy"] | null;
            path: string;
            /** @description Whether other runs may work there at the same time. */
            share: boolean;
        };
        /**
         * @description Who or what answered a question.
         * @enum {string}
         */
        ResolutionMode: "user_reply" | "auto_decide_timeout" | "permission_policy";
        /** @description What the processes of one attempt may use. What is missing is not limited. */
        ResourceLimits: {
            /**
             * Format: uint64
             * @description Seconds of processor time of all processes together, the exited ones too.
             */
            cpu_sec?: number | null;
            /**
             * Format: uint64
             * @description Growth in bytes of the folders that the processes write: workspace, HOME of the run, temporary files.
             */
            disk_bytes?: number | null;
            /**
             * Format: uint64
             * @description Bytes of memory of all processes together; what they share counts once.
             */
            memory_bytes?: number | null;
            /**
             * Format: uint32
             * @description Number of processes.
             */
            processes?: number | null;
        };
        /** @description When a failed run is retried automatically, as a new run with the same request. */
        RetryOptions: {
            /** @description `wait`: when the quota of the engine is exhausted, wait until it is available again and retry. */
            quota?: components["schemas"]["OnQuota"] | null;
            /**
             * Format: uint32
             * @description Maximum number of consecutive automatic retries; default 29.
             */
            quota_max?: number | null;
        };
        /** @description The changes of a retry against the earlier run. */
        RetryRun: {
            /** @description Another engine. */
            engine?: string | null;
            /** @description Only these keys change; the others keep their values. */
            input?: {
                [key: string]: unknown;
            };
            /** @description Another mode. */
            mode?: components["schemas"]["ExecutionMode"] | null;
            /** @description Another model. */
            model?: string | null;
            options?: components["schemas"]["RunOptions"];
            /** @description Only these keys change; the others keep their values. */
            parameter?: {
                [key: string]: unknown;
            };
            /** @description Webhook addresses of the new run only. */
            webhooks?: string[];
        };
        /** @description A request to run a workflow again with the same inputs. */
        RetryWorkflow: {
            /**
             * @description Steps that are ready, and whose skill, input, engine and options are the same, are taken over.
             * @default true
             */
            from_failed?: boolean;
            /** @description Addresses that are notified when the workflow waits for a decision and when it is over. */
            webhooks?: string[];
        };
        /** @description The step of an earlier run of the workflow that counts here too. */
        ReusedStep: {
            /** @description The workflow. */
            run_id: components["schemas"]["RunId"];
            /**
             * Format: uint64
             * @description The `workflow.step_ended` there.
             */
            seq: number;
        };
        /**
         * @description The rule that decided how a turn ended: the first one that fitted.
         * @enum {string}
         */
        Rule: "1" | "1b" | "2" | "2b" | "3" | "3b" | "3c" | "4" | "5" | "5b" | "6" | "7" | "7b" | "8" | "8b" | "9" | "10" | "11" | "12" | "13" | "14";
        /** @description A run. */
        Run: {
            /** @description The number of the last attempt that began, which is also the number of attempts. */
            attempt: components["schemas"]["AttemptNumber"];
            /**
             * Format: uint32
             * @description How many questions were answered automatically.
             * @default 0
             */
            auto_decision_count: number;
            /**
             * Format: uint32
             * @description The same as `auto_decision_count`, under the name that 0.1.0 had for it.
             */
            auto_decisions: number;
            /** @description Time of the first event. */
            created_at: components["schemas"]["Timestamp"] | null;
            /** @description Why the rest of its Log is not in this row. */
            damage: string | null;
            /** @description Time of the terminal record. */
            ended_at: components["schemas"]["Timestamp"] | null;
            /** @description The name of the engine. */
            engine: string | null;
            /** @description From the same source. */
            error_code: components["schemas"]["Code"] | null;
            /** @description The beginning of the error's message, on one line: what the engine or the program reported about this run. */
            error_message: string | null;
            /** @description The complete pending question. */
            interaction?: components["schemas"]["Interaction"] | null;
            /** @description Time of the last automatic answer; null when there is none. */
            last_auto_decision_at: components["schemas"]["Timestamp"] | null;
            /**
             * @description The beginning of the last answer of the agent: of a message that a completed turn names. Text of a turn that broke
             *     off is not an answer.
             */
            last_words: string | null;
            /**
             * Format: uint64
             * @description Number of bytes of its Log that are in this row.
             */
            log_bytes: number;
            mode: components["schemas"]["ExecutionMode"] | null;
            /**
             * Format: uint64
             * @description Events that a newer version of skillrun wrote. They are not in this row, and this version cannot continue the run.
             */
            newer_events?: number | null;
            /** @description The run does not begin before this time. */
            not_before?: components["schemas"]["Timestamp"] | null;
            /** @description The run that has asked for this one. */
            parent?: components["schemas"]["ParentLink"] | null;
            /** @description The pending question. */
            question: components["schemas"]["RunQuestion"] | null;
            /** @description From the terminal record, before that from the last settled attempt. */
            reason_code: components["schemas"]["Code"] | null;
            /** @description Whether the run waits only for a user. */
            rests: boolean;
            /** @description The result, once the run is over. */
            result?: components["schemas"]["RunResult"] | null;
            /** @description The automatic retry of this run, which failed. */
            retried_as?: components["schemas"]["RunId"] | null;
            run_id: components["schemas"]["RunId"];
            /** @description The name of the skill; null for a run without one. */
            skill: string | null;
            /** @description None when its Log cannot be read far enough. */
            status: components["schemas"]["RunStatus"] | null;
            /** @description The beginning of the prompt of a run without a skill. */
            title?: string | null;
            /** @description Why the run is stuck; null if it is not. */
            trouble?: string | null;
            /** @description Time of the last event. */
            updated_at: components["schemas"]["Timestamp"] | null;
            /** @description None while no engine has reported any. */
            usage: components["schemas"]["RunUsage"] | null;
            /**
             * Format: uint64
             * @description Warnings of the last settled attempt.
             */
            warnings: number;
        };
        /** @description The run was canceled. The last event. */
        RunCanceled: {
            /** @description Who requested it. */
            by: string | null;
            reason_code: components["schemas"]["Code"];
        };
        /** @description The run has succeeded, or the user has closed the conversation. The last event. */
        RunCompleted: {
            reason_code: components["schemas"]["Code"];
            /** @description Path of `result.json` in the run's folder; absent when a recording was read, which leaves no result. */
            result?: string | null;
            /** @description The warnings of the verdict. */
            warnings?: components["schemas"]["Code"][];
        };
        /** @description How the last turn was judged. */
        RunCompletion: {
            /**
             * Format: double
             * @description 1.0 is an exact parse, below 0.7 is a guess.
             */
            confidence: number;
            reason_code: components["schemas"]["Code"];
            state: components["schemas"]["CompletionState"];
        };
        /** @description What went wrong. */
        RunError: {
            category: components["schemas"]["ErrorCategory"];
            code: components["schemas"]["Code"];
            /** @description Further details, such as the places where an output does not match its schema. */
            details?: string[];
            /** @description For people; the text may change between versions. */
            message: string;
            /** @description When the quota is available again, if the engine reported it. */
            reset_at?: components["schemas"]["Timestamp"] | null;
        };
        /** @description The run has failed. The last event. */
        RunFailed: {
            error: components["schemas"]["RunError"];
            next_actions: components["schemas"]["NextAction"][];
            reason_code: components["schemas"]["Code"];
            /** @description The run that will retry this one automatically. */
            retry?: components["schemas"]["PlannedRetry"] | null;
        };
        /** @description The engine is still working. */
        RunHeartbeat: {
            /** Format: uint64 */
            bytes: number;
            /** Format: uint64 */
            elapsed_ms: number;
        };
        /**
         * Format: uuid
         * @description A run. The id of a later run sorts after that of an earlier one.
         */
        RunId: string;
        /** @description A run in the tree of its family. */
        RunInTree: {
            /** @description The number of the last attempt that began, which is also the number of attempts. */
            attempt: components["schemas"]["AttemptNumber"];
            /**
             * Format: uint32
             * @description How many questions were answered automatically.
             * @default 0
             */
            auto_decision_count: number;
            /**
             * Format: uint32
             * @description The same as `auto_decision_count`, under the name that 0.1.0 had for it.
             */
            auto_decisions: number;
            /** @description Time of the first event. */
            created_at: components["schemas"]["Timestamp"] | null;
            /** @description Why the rest of its Log is not in this row. */
            damage: string | null;
            /** @description Time of the terminal record. */
            ended_at: components["schemas"]["Timestamp"] | null;
            /** @description The name of the engine. */
            engine: string | null;
            /** @description From the same source. */
            error_code: components["schemas"]["Code"] | null;
            /** @description The beginning of the error's message, on one line: what the engine or the program reported about this run. */
            error_message: string | null;
            /** @description Time of the last automatic answer; null when there is none. */
            last_auto_decision_at: components["schemas"]["Timestamp"] | null;
            /**
             * @description The beginning of the last answer of the agent: of a message that a completed turn names. Text of a turn that broke
             *     off is not an answer.
             */
            last_words: string | null;
            /**
             * Format: uint64
             * @description Number of bytes of its Log that are in this row.
             */
            log_bytes: number;
            mode: components["schemas"]["ExecutionMode"] | null;
            /**
             * Format: uint64
             * @description Events that a newer version of skillrun wrote. They are not in this row, and this version cannot continue the run.
             */
            newer_events?: number | null;
            /** @description The run does not begin before this time. */
            not_before?: components["schemas"]["Timestamp"] | null;
            /** @description The run that has asked for this one. */
            parent?: components["schemas"]["ParentLink"] | null;
            /** @description What the Log of its parent says of its end; absent for the first run, and while the parent says nothing. */
            parent_says?: components["schemas"]["SubagentStatus"] | null;
            /** @description The pending question. */
            question: components["schemas"]["RunQuestion"] | null;
            /** @description From the terminal record, before that from the last settled attempt. */
            reason_code: components["schemas"]["Code"] | null;
            /** @description The parent has ended before it and says `detached`; `status` is how it has really ended. */
            reconciled?: boolean;
            /** @description Whether the run waits only for a user. */
            rests: boolean;
            /** @description The automatic retry of this run, which failed. */
            retried_as?: components["schemas"]["RunId"] | null;
            run_id: components["schemas"]["RunId"];
            /** @description The name of the skill; null for a run without one. */
            skill: string | null;
            /** @description None when its Log cannot be read far enough. */
            status: components["schemas"]["RunStatus"] | null;
            /** @description The beginning of the prompt of a run without a skill. */
            title?: string | null;
            /** @description Time of the last event. */
            updated_at: components["schemas"]["Timestamp"] | null;
            /** @description None while no engine has reported any. */
            usage: components["schemas"]["RunUsage"] | null;
            /**
             * Format: uint64
             * @description Warnings of the last settled attempt.
             */
            warnings: number;
        };
        /** @description Runs, the newest first. */
        RunList: {
            /** @description The `cursor` of the next page; null when there is none. */
            next_cursor: string | null;
            runs: components["schemas"]["RunSummary"][];
        };
        /** @description The options of a run. An omitted option is taken from the skill, else from the settings. */
        RunOptions: {
            /** @description Hosts that they reach in addition to the model of the engine; with these, `network` is `list` unless it is set. */
            allow_hosts?: string[];
            /**
             * Format: uint32
             * @description Maximum number of questions answered automatically.
             */
            auto_decision_limit?: number | null;
            /**
             * @description Whether the processes of the run start in a box; a choice other than that of the settings needs the scope `admin`
             *     if it is `off`.
             */
            box?: components["schemas"]["BoxChoice"] | null;
            /**
             * @description Commands that the server runs in the workspace after the turn of a run that would succeed, after those of the
             *     skill; each must exit with code 0. Needs the scope `admin`.
             */
            checks?: components["schemas"]["CheckRequest"][];
            /** @description How the engine resumes after a question, instead of its default. `sticky_process` is read as `sticky`. */
            continuation?: components["schemas"]["Continuation"] | null;
            /** @description What to do when no user answers. */
            default_decision_policy?: components["schemas"]["DecisionPolicy"] | null;
            /** @description What the run may ask other runs to do. Null: it starts no other run. */
            delegation?: components["schemas"]["Delegation"] | null;
            /** @description The reasoning effort, in the terms of the engine. */
            effort?: string | null;
            /** @description Names of environment variables of the server that are passed to the engine; needs the scope `admin`. */
            env?: string[];
            /**
             * Format: double
             * @description An attempt that takes longer is terminated.
             */
            hard_timeout_sec?: number | null;
            /** @description `user` needs the scope `admin`. */
            home?: components["schemas"]["HomeChoice"] | null;
            /**
             * Format: double
             * @description How long a process of the engine waits for the next prompt of a run at rest, before it is ended.
             */
            idle_sec?: number | null;
            /** @description False: when no user answers in time, the question is answered automatically. */
            interactive_require_user_reply?: boolean | null;
            /**
             * @description What the processes of an attempt may use. What is missing: the settings, and in a box 8 GiB of memory, 1,024
             *     processes and 20 GiB of disk; more than the settings allow needs the scope `admin`.
             */
            limits?: components["schemas"]["ResourceLimits"];
            /**
             * Format: double
             * @description How long the engine process may keep running after the end of its turn.
             */
            linger_sec?: number | null;
            /**
             * Format: uint32
             * @description Maximum number of turns.
             */
            max_attempt?: number | null;
            /**
             * @description MCP servers for the engine, by name; they replace those of the skill that have the same name. Needs the scope
             *     `admin`.
             */
            mcp_servers?: components["schemas"]["McpServers"];
            /** @description What the processes of a run in a box reach over the network; default `open`. */
            network?: components["schemas"]["NetworkAccess"] | null;
            /** @description `full` needs the scope `admin`. */
            permission?: components["schemas"]["Permission"] | null;
            /**
             * Format: int32
             * @description Runs with a higher priority start sooner. Null: 0, or on a retry that of the old run.
             */
            priority?: number | null;
            /** @description How the engine's output is read, instead of its own profile. */
            profile?: components["schemas"]["ProfileId"] | null;
            /** @description Whether an auto run fails when the agent gives no done marker; null: as the skill says, else the settings. */
            require_marker?: boolean | null;
            /** @description When a failed run is retried automatically. */
            retry?: components["schemas"]["RetryOptions"];
            /**
             * @description Names of environment variables of the server that are passed to the engine and whose values are masked wherever
             *     they occur; needs the scope `admin`.
             */
            secrets?: string[];
            /**
             * Format: double
             * @description How long a question waits for an answer.
             */
            session_timeout_sec?: number | null;
            /** @description Whether changes of the workspace are recorded. */
            snapshot?: components["schemas"]["Snapshot"] | null;
            /**
             * Format: double
             * @description An attempt without output for longer is terminated.
             */
            stall_timeout_sec?: number | null;
            /**
             * @description Whether files of the workspace may start programs and name addresses; default `ignore`. `allow` needs the scope
             *     `admin`.
             */
            workspace_settings?: components["schemas"]["WorkspaceSettings"] | null;
        };
        /** @description A question in a list, truncated if it is long. */
        RunQuestion: {
            deadline: components["schemas"]["Timestamp"] | null;
            interaction_id: components["schemas"]["InteractionId"];
            kind: components["schemas"]["InteractionKind"];
            on_deadline: components["schemas"]["OnDeadline"];
            options: components["schemas"]["AskOption"][];
            /** @description Its beginning. */
            prompt: string;
            scope: components["schemas"]["InteractionScope"];
            truncated?: boolean;
        };
        /** @description The request of a run, with every default filled in. */
        RunRequest: {
            /** @description What the box of its processes holds, and by what; null without a box. */
            box: components["schemas"]["BoxReport"] | null;
            /** @description A command that starts a new run with the same request. */
            command: string;
            /** @description The run whose conversation this one continues. */
            continues?: components["schemas"]["Continues"] | null;
            created_at: components["schemas"]["Timestamp"];
            engine: components["schemas"]["RequestEngine"];
            /** @description Input files by slot. */
            files: components["schemas"]["RequestFile"][];
            input: {
                [key: string]: unknown;
            };
            mode: components["schemas"]["ExecutionMode"];
            /** @description The engine's name of the model; null: the engine's choice. */
            model: string | null;
            /** @description The run does not begin before this time; null: as soon as a slot is free. */
            not_before: components["schemas"]["Timestamp"] | null;
            options: components["schemas"]["AcceptedOptions"];
            parameter: {
                [key: string]: unknown;
            };
            /** @description The first message of a run without a skill. */
            prompt?: string | null;
            /** @description The caller's own name for the request. */
            request_id: string | null;
            /** @description The run that this one is a retry of. */
            retry_of: components["schemas"]["RunId"] | null;
            run_id: components["schemas"]["RunId"];
            /** @description Null for a run without a skill. */
            skill: components["schemas"]["RequestSkill"] | null;
            /**
             * @description The name of the workflow, if the run is one; `input` has its inputs, and `GET /v1/runs/{run_id}/workflow` its
             *     steps.
             */
            workflow?: string | null;
            /** @description The workspace; null: a folder inside the run. */
            workspace: components["schemas"]["RequestWorkspace"] | null;
            /** @description Names of files in the workspace that look like credentials. */
            workspace_credentials: string[];
            /** @description What files of the workspace could start, as it was when the run was accepted, and what becomes of it. */
            workspace_starts: components["schemas"]["WorkspaceStart"][];
        };
        /** @description The result of a run. Written once, at its end. */
        RunResult: {
            /** @description The files of the result. */
            artifacts: components["schemas"]["ArtifactIndexed"][];
            /**
             * Format: uint32
             * @description The number of attempts.
             */
            attempts: number;
            /** @description The checks that have ended, in order. */
            checks?: components["schemas"]["CheckResult"][];
            /** @description None when no turn was ever settled. */
            completion: components["schemas"]["RunCompletion"] | null;
            error?: components["schemas"]["RunError"] | null;
            /**
             * @description How far the Log had come, with the hash that covers everything up to there: in `result.json` the event before
             *     the last one, in every response the last one. Absent where an older version wrote the Log.
             */
            log_head?: components["schemas"]["LogHead"] | null;
            /** @description What the user can do now. */
            next_actions: components["schemas"]["NextAction"][];
            /** @description The output of the skill, checked against its schema; null when there is none that matches. */
            output: {
                [key: string]: unknown;
            } | null;
            run_id: components["schemas"]["RunId"];
            status: components["schemas"]["RunStatus"];
            /** @description The answer as text, where it ended cleanly. */
            text: string | null;
            timing: components["schemas"]["RunTiming"];
            /** @description Of a conversation that was closed: the number of turns that ended in each state. */
            turns?: {
                /** Format: uint32 */
                completed?: number;
                /** Format: uint32 */
                failed?: number;
                /** Format: uint32 */
                interrupted?: number;
                /** Format: uint32 */
                partial_failed?: number;
                /** Format: uint32 */
                timed_out?: number;
            };
            /** @description Tokens of all turns, as far as the engine reported them. */
            usage: components["schemas"]["TurnUsage"] | null;
            /** @description Codes of irregularities. */
            warnings: components["schemas"]["Code"][];
            /** @description Of a workflow. */
            workflow?: components["schemas"]["WorkflowResult"] | null;
        };
        /** @description The run has begun. */
        RunStarted: {
            /**
             * @description Whether a later turn can continue in the session. This field and the following ones are absent when a recording
             *     was read.
             */
            continuation?: components["schemas"]["Continuation"] | null;
            /** @description The run whose conversation this one continues. */
            continues?: components["schemas"]["Continues"] | null;
            engine: string;
            mode: components["schemas"]["ExecutionMode"];
            /** @description The run waits until this moment for the engine's quota. */
            not_before?: components["schemas"]["Timestamp"] | null;
            /** @description The run that has asked for this one. */
            parent?: components["schemas"]["ParentLink"] | null;
            permission?: components["schemas"]["Permission"] | null;
            /** @description Whether the engine is held to the permission. */
            posture?: components["schemas"]["Posture"] | null;
            /** @description BLAKE3 of `run.json`, which never changes. Absent in Logs of versions before the chain. */
            record_hash?: string | null;
            retry_of?: components["schemas"]["RunId"] | null;
            /** @description The name of the skill; null for a run without one, and when a recording was read. */
            skill: string | null;
            /** @description The beginning of the prompt of a run without a skill, on one line; the name of a workflow. */
            title?: string | null;
            versions: components["schemas"]["Versions"];
            /** @description The name of the workflow, if the run is one. Its engine is then called `workflow`. */
            workflow?: string | null;
        };
        /** @description What presenters distinguish about a run: its status, what a waiting run waits for, and why one failed. */
        RunState: ("queued" | "running" | "succeeded" | "closed" | "failed" | "canceled") | "waiting_answer" | "waiting_prompt" | "failed_timeout" | "failed_output" | "failed_partial";
        /** @description Status of a run. The last four are terminal and final. */
        RunStatus: ("queued" | "running" | "waiting_user" | "succeeded" | "failed" | "canceled") | "closed";
        /** @description The run has changed its status, or the engine reports what it is doing. */
        RunStatusChange: {
            detail?: string | null;
            phase?: components["schemas"]["Phase"] | null;
            /** @description With phase `interrupting`: the next prompt, which is sent as soon as the turn is interrupted. */
            say?: string | null;
            /** @description The new status of the run; absent when an engine only reports what it is doing. */
            status?: components["schemas"]["RunStatus"] | null;
        };
        /** @description One run, as lists show it. */
        RunSummary: {
            /** @description The number of the last attempt that began, which is also the number of attempts. */
            attempt: components["schemas"]["AttemptNumber"];
            /**
             * Format: uint32
             * @description How many questions were answered automatically.
             * @default 0
             */
            auto_decision_count: number;
            /**
             * Format: uint32
             * @description The same as `auto_decision_count`, under the name that 0.1.0 had for it.
             */
            auto_decisions: number;
            /** @description Time of the first event. */
            created_at: components["schemas"]["Timestamp"] | null;
            /** @description Why the rest of its Log is not in this row. */
            damage: string | null;
            /** @description Time of the terminal record. */
            ended_at: components["schemas"]["Timestamp"] | null;
            /** @description The name of the engine. */
            engine: string | null;
            /** @description From the same source. */
            error_code: components["schemas"]["Code"] | null;
            /** @description The beginning of the error's message, on one line: what the engine or the program reported about this run. */
            error_message: string | null;
            /** @description Time of the last automatic answer; null when there is none. */
            last_auto_decision_at: components["schemas"]["Timestamp"] | null;
            /**
             * @description The beginning of the last answer of the agent: of a message that a completed turn names. Text of a turn that broke
             *     off is not an answer.
             */
            last_words: string | null;
            /**
             * Format: uint64
             * @description Number of bytes of its Log that are in this row.
             */
            log_bytes: number;
            mode: components["schemas"]["ExecutionMode"] | null;
            /**
             * Format: uint64
             * @description Events that a newer version of skillrun wrote. They are not in this row, and this version cannot continue the run.
             */
            newer_events?: number | null;
            /** @description The run does not begin before this time. */
            not_before?: components["schemas"]["Timestamp"] | null;
            /** @description The run that has asked for this one. */
            parent?: components["schemas"]["ParentLink"] | null;
            /** @description The pending question. */
            question: components["schemas"]["RunQuestion"] | null;
            /** @description From the terminal record, before that from the last settled attempt. */
            reason_code: components["schemas"]["Code"] | null;
            /** @description Whether the run waits only for a user. */
            rests: boolean;
            /** @description The automatic retry of this run, which failed. */
            retried_as?: components["schemas"]["RunId"] | null;
            run_id: components["schemas"]["RunId"];
            /** @description The name of the skill; null for a run without one. */
            skill: string | null;
            /** @description None when its Log cannot be read far enough. */
            status: components["schemas"]["RunStatus"] | null;
            /** @description The beginning of the prompt of a run without a skill. */
            title?: string | null;
            /** @description Time of the last event. */
            updated_at: components["schemas"]["Timestamp"] | null;
            /** @description None while no engine has reported any. */
            usage: components["schemas"]["RunUsage"] | null;
            /**
             * Format: uint64
             * @description Warnings of the last settled attempt.
             */
            warnings: number;
        };
        /** @description The times of the run. */
        RunTiming: {
            created_at: components["schemas"]["Timestamp"];
            /**
             * Format: uint64
             * @description From the first to the last of these, waiting included.
             */
            elapsed_ms: number;
            ended_at: components["schemas"]["Timestamp"];
            /** @description When the first attempt began; none when none did. */
            started_at: components["schemas"]["Timestamp"] | null;
        };
        /** @description A run and all runs below it. */
        RunTree: {
            /** @description Each run after its parent; siblings in the order in which they were asked for. `parent` has the depth. */
            runs: components["schemas"]["RunInTree"][];
        };
        /** @description Tokens of all turns together, and their cost, as far as engines report them. */
        RunUsage: {
            /**
             * Format: double
             * @description In US dollars, as the engine estimates it.
             */
            cost_usd: number | null;
            /** Format: uint64 */
            input_tokens: number | null;
            /** Format: uint64 */
            output_tokens: number | null;
        };
        /** @description A browser session. */
        Session: {
            /** @description When the browser needs a new link. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description The token to send as `Authorization: Bearer`; shown only here. */
            token: string;
        };
        /**
         * @description An error keeps a skill from being run; a note needs no repair.
         * @enum {string}
         */
        Severity: "error" | "warning" | "note";
        /** @description A skill, with the schemas from which a form can be generated. */
        Skill: {
            /** @description Patterns of files that count as artifacts. */
            artifacts: string[];
            /** @description When to use the skill, from its own description. */
            description: string;
            /** @description The supported engines; empty: all. */
            engines: string[];
            /** @description Errors and warnings about the skill. */
            findings: components["schemas"]["SkillFinding"][];
            /** @description The folder of the skill on the machine of the server. */
            folder: string;
            /** @description blake3 of all its files. */
            hash: string | null;
            /**
             * Format: uint32
             * @description Maximum number of turns of a run; null: the setting applies.
             */
            max_attempt: number | null;
            /** @description The supported modes. */
            modes: components["schemas"]["ExecutionMode"][];
            /** @description The name to use in a request. */
            name: string;
            origin: components["schemas"]["SkillOrigin"];
            /** @description Why the skill cannot be run; null if it can. */
            problem: string | null;
            /** @description Whether an auto run fails when the agent gives no done marker; null: the setting applies. */
            require_marker: boolean | null;
            /** @description The JSON Schemas of input, parameter and output that the skill has. */
            schemas: {
                [key: string]: unknown;
            };
            /** @description Engines that the skill does not support. */
            unsupported_engines: string[];
            version: string | null;
        };
        /** @description A skill that was validated and not stored. */
        SkillCheck: {
            /** @description Patterns of files that count as artifacts. */
            artifacts: string[];
            /** @description When to use the skill, from its own description. */
            description: string;
            /** @description The supported engines; empty: all. */
            engines: string[];
            /** @description Errors and warnings about the skill. */
            findings: components["schemas"]["SkillFinding"][];
            /** @description blake3 of all its files. */
            hash: string | null;
            /** @description Whether a skill of this name is installed, which this one would replace. */
            is_installed: boolean;
            /**
             * Format: uint32
             * @description Maximum number of turns of a run; null: the setting applies.
             */
            max_attempt: number | null;
            /** @description The supported modes. */
            modes: components["schemas"]["ExecutionMode"][];
            /** @description The name under which it would be installed. */
            name: string;
            /** @description Why the skill could not be run; null if it could. */
            problem: string | null;
            /** @description Whether an auto run fails when the agent gives no done marker; null: the setting applies. */
            require_marker: boolean | null;
            /** @description The JSON Schemas of input, parameter and output that the skill has. */
            schemas: {
                [key: string]: unknown;
            };
            /** @description Engines that the skill does not support. */
            unsupported_engines: string[];
            version: string | null;
        };
        /** @description Something that is wrong or odd about a skill. */
        SkillFinding: {
            /** @description Inside the skill. */
            file: string;
            kind: components["schemas"]["SkillFindingKind"];
            message: string;
            severity: components["schemas"]["Severity"];
        };
        /** @description What is wrong or odd. */
        SkillFindingKind: ("front_matter_missing" | "front_matter_unclosed" | "front_matter_not_yaml" | "name_missing" | "name_invalid" | "name_not_folder" | "description_missing" | "description_too_long" | "compatibility_too_long" | "body_empty" | "unknown_key" | "unknown_mode" | "no_mode" | "engine_twice" | "max_attempt" | "policy_unknown" | "schema_path" | "schema_invalid" | "prompt_placeholder" | "artifact_path" | "not_copyable") | "unreadable" | "wrong_type" | "extra_keys" | "runner_part" | "patch_block";
        /** @description Parts of a form. */
        SkillForm: {
            /** @description A zip with the skill. */
            skill: string;
        };
        /**
         * @description One of the texts that are added to a skill.
         * @enum {string}
         */
        SkillLayer: "artifacts" | "auto" | "interactive" | "completion";
        /** @description Who wrote a layer. */
        SkillLayerOrigin: "shipped" | "operator";
        /** @description Skills by name. */
        SkillList: {
            skills: components["schemas"]["SkillSummary"][];
            /** @description Folders that cannot be read, each with the reason. */
            unreadable: string[];
        };
        /** @description Whose folder it is. */
        SkillOrigin: ("project" | "configured" | "user") | "path";
        /** @description A skill in a list. */
        SkillSummary: {
            /** @description When to use the skill, from its own description. */
            description: string;
            /** @description The supported engines; empty: all. */
            engines: string[];
            /** @description The supported modes. */
            modes: components["schemas"]["ExecutionMode"][];
            /** @description The name to use in a request. */
            name: string;
            origin: components["schemas"]["SkillOrigin"];
            /** @description Why the skill cannot be run; null if it can. */
            problem: string | null;
            version: string | null;
        };
        /**
         * @description Whether the workspace is compared before and after.
         * @enum {string}
         */
        Snapshot: "taken" | "off";
        /**
         * @description Where an event comes from. Everything but `control` is evidence.
         * @enum {string}
         */
        SourceStream: "stdout" | "stderr" | "pty" | "stdin" | "control";
        /** @description One piece of evidence: a half-open byte range of one file. */
        SpanRef: {
            /** Format: uint64 */
            from: number;
            stream: components["schemas"]["SourceStream"];
            /** Format: uint64 */
            to: number;
        };
        /** @description What a file of the workspace names. */
        StartKind: "mcp_server" | "hook" | "plugin" | "command" | "address" | "variables" | "unknown";
        /** @description What becomes of it. */
        StartState: "not_started" | "not_stopped";
        /** @description A step has ended, or one item of a step that repeats. */
        StepEnded: {
            /** @description The child run that decided. */
            child_run_id?: components["schemas"]["RunId"] | null;
            /**
             * Format: uint64
             * @description The last event of its Log.
             */
            child_seq?: number | null;
            /** @description One sentence for people. */
            details?: string | null;
            /** @description BLAKE3 as in `workflow.step_scheduled`. */
            fingerprint?: string | null;
            /** @description It has an output that fits its schema. */
            has_output?: boolean;
            /** Format: uint32 */
            item?: number | null;
            /**
             * Format: uint32
             * @description The length of the list of a step that repeats.
             */
            items?: number | null;
            /** @description Of the end of the child run; why the step did not begin otherwise. */
            reason: components["schemas"]["Code"];
            reused?: components["schemas"]["ReusedStep"] | null;
            state: components["schemas"]["StepState"];
            step_id: components["schemas"]["StepId"];
            /** @description No other step begins after it. */
            stops?: boolean;
        };
        /** @description A step of a workflow has ended. It was successful only if its state is `ready`. */
        StepEndedToShow: {
            child_run_id?: components["schemas"]["RunId"] | null;
            /** @description One sentence for people. */
            details?: string | null;
            /** Format: uint32 */
            item?: number | null;
            reason_code: components["schemas"]["Code"];
            state: components["schemas"]["StepState"];
            step_id: components["schemas"]["StepId"];
        };
        /** @description A step waits for a decision of the user, which the next event asks for. */
        StepHeld: {
            interaction_id: components["schemas"]["InteractionId"];
            /** Format: uint32 */
            item?: number | null;
            step_id: components["schemas"]["StepId"];
            why: components["schemas"]["HoldReason"];
        };
        /** @description The name of a step in its workflow. */
        StepId: string;
        /** @description One item of a step that repeats. */
        StepItemView: {
            child_run_id?: components["schemas"]["RunId"] | null;
            /** Format: uint32 */
            item: number;
            reason?: components["schemas"]["Code"] | null;
            standing: components["schemas"]["StepStanding"];
        };
        /** @description A step begins: its child run is requested by the next event, unless the step needs none. */
        StepScheduled: {
            /** @description Absent where the list of a step that repeats is empty. */
            child_run_id?: components["schemas"]["RunId"] | null;
            /**
             * Format: uint32
             * @description The place of the engine in the list of the step, from 0.
             * @default 0
             */
            engine_index: number;
            /** @description BLAKE3 of the skill, the input, the engine and the options: the same step has the same one in another run. */
            fingerprint: string;
            /**
             * Format: uint32
             * @description The place in the list of a step that repeats, from 0.
             */
            item?: number | null;
            /**
             * Format: uint32
             * @description The length of that list.
             */
            items?: number | null;
            /** @description The child waits until this moment for the quota of its engine. */
            not_before?: components["schemas"]["Timestamp"] | null;
            step_id: components["schemas"]["StepId"];
            /**
             * Format: uint32
             * @description From 1: higher where the step is tried again.
             */
            trial: number;
        };
        /** @description How a step stands. */
        StepStanding: ("running" | "ready" | "partial" | "failed" | "timed_out" | "cancelled" | "skipped") | "pending" | "queued" | "waits_for_quota" | "asks" | "held_now" | "held";
        /**
         * @description A step of a workflow has begun, or one item of a step that repeats. Its run is named by the `subagent.started` that
         *     follows.
         */
        StepStartedToShow: {
            child_run_id?: components["schemas"]["RunId"] | null;
            /**
             * Format: uint32
             * @description The place in the list of a step that repeats, from 0.
             */
            item?: number | null;
            step_id: components["schemas"]["StepId"];
            /**
             * Format: uint32
             * @description From 1: higher where the step is tried again.
             */
            trial: number;
        };
        /** @description How a step ended, and so each item of a step that repeats. */
        StepState: ("failed" | "timed_out" | "cancelled") | "ready" | "partial" | "held" | "skipped";
        /** @description One step in the end of a workflow. */
        StepSummary: {
            child_run_id?: components["schemas"]["RunId"] | null;
            /** @description Of a step that repeats: how many items are ready, and how many there are. */
            items?: [
                number,
                number
            ] | null;
            reason: components["schemas"]["Code"];
            required: boolean;
            state: components["schemas"]["StepState"];
            step_id: components["schemas"]["StepId"];
            /** @description Its output or its files can be used. */
            usable?: boolean;
        };
        /** @description One step. */
        StepView: {
            /** @description The last child run. */
            child_run_id?: components["schemas"]["RunId"] | null;
            /** @description One sentence for people. */
            details?: string | null;
            ended_at?: components["schemas"]["Timestamp"] | null;
            /** @description The engine of its last child run; before, the first in its list. */
            engine?: string | null;
            /** @description Why it waits for a decision, and the question to answer. */
            held?: components["schemas"]["HoldReason"] | null;
            interaction_id?: components["schemas"]["InteractionId"] | null;
            /** @description Of a step that repeats; empty before its list is known. */
            items?: components["schemas"]["StepItemView"][];
            needs: components["schemas"]["StepId"][];
            on_failure: components["schemas"]["OnStepFailure"];
            reason?: components["schemas"]["Code"] | null;
            required: boolean;
            /** @description The workflow from which a ready step was taken over. */
            reused_from?: components["schemas"]["RunId"] | null;
            standing: components["schemas"]["StepStanding"];
            started_at?: components["schemas"]["Timestamp"] | null;
            step_id: components["schemas"]["StepId"];
            /** @description The name of its skill or workflow, or the beginning of its prompt. */
            title: string;
            /**
             * Format: uint32
             * @description How often the step has begun.
             * @default 0
             */
            trials: number;
        };
        /** @description Bytes recorded of each stream; none where there is no recording of it. */
        StreamSizes: {
            /**
             * Format: uint64
             * @description The terminal's copy, which repeats the bytes of the others.
             */
            pty: number | null;
            /** Format: uint64 */
            stderr: number | null;
            /**
             * Format: uint64
             * @description The input of the process.
             */
            stdin: number | null;
            /** Format: uint64 */
            stdout: number | null;
        };
        /**
         * @description A child has ended, or is no longer controlled by its parent. A later record of the same child replaces one with the
         *     status `detached`.
         */
        SubagentEnded: {
            child_run_id: components["schemas"]["RunId"];
            /**
             * Format: uint64
             * @description The event of the child's Log that this follows from; absent where the child does not exist.
             */
            child_seq?: number | null;
            /** @description The engine's session of the child. */
            child_session_id?: string | null;
            /** @description When a time limit that the child has reached was over. */
            deadline_at?: components["schemas"]["Timestamp"] | null;
            /** @description Why the child could not be made. */
            details?: string | null;
            /**
             * Format: uint64
             * @description From the request to the end of the child.
             */
            elapsed_ms: number;
            next_actions?: components["schemas"]["NextAction"][];
            /** @description The file with the result, in the folder of the child. */
            output_ref?: string | null;
            /** @description The reason in the child's end event; why it is detached otherwise. */
            reason: components["schemas"]["Code"];
            status: components["schemas"]["SubagentStatus"];
            /** @description The answer of a completed child, or its beginning. */
            summary?: string | null;
            /** Format: uint64 */
            timeout_ms?: number | null;
        };
        /**
         * @description A run that the agent has asked for has ended, or is no longer controlled. It was successful only if the status is
         *     `completed`.
         */
        SubagentEndedToShow: {
            child_run_id: components["schemas"]["RunId"];
            /** Format: uint64 */
            elapsed_ms: number;
            reason_code: components["schemas"]["Code"];
            status: components["schemas"]["SubagentStatus"];
            /** @description The answer of a completed run, or its beginning. */
            summary?: string | null;
        };
        /**
         * @description The engine has reported something of a subagent of its own, which is not a run: there is no Log from which it could
         *     be checked. All texts are the engine's.
         */
        SubagentObserved: {
            /** @description What the engine calls this kind of subagent. */
            name?: string | null;
            sanitized?: boolean;
            /**
             * @description Its state in the engine's own word, which need not be a state of a run. An engine may say `completed` of work
             *     that has failed.
             */
            state?: string | null;
            /** @description The engine's id of the subagent: that of a session, a thread, or the call that has started it. */
            subagent_id: string;
            /** @description The beginning of its task. */
            task?: string | null;
            /** @description What the engine adds to the state. */
            text?: string | null;
            /** @description The range covers more than the texts. */
            truncated?: boolean;
        };
        /** @description A run has asked for a child, which is made after this event. */
        SubagentRequested: {
            child_run_id: components["schemas"]["RunId"];
            engine: string;
            /** @description The same key in the same attempt gives the same child. */
            key: string;
            on_parent_end: components["schemas"]["OnParentEnd"];
            /** @description The whole request, from which the child is made. */
            request: components["schemas"]["TextBlob"];
            /**
             * Format: uint64
             * @description The longest time of a turn of the child.
             */
            timeout_ms?: number | null;
            /** @description The name of the skill, or the beginning of the prompt. */
            title: string;
        };
        /** @description The child exists. */
        SubagentStarted: {
            child_run_id: components["schemas"]["RunId"];
        };
        /** @description The agent has asked for another run, which works for it. */
        SubagentStartedToShow: {
            child_run_id: components["schemas"]["RunId"];
            engine: string;
            /** @description The name of the skill, or the beginning of the prompt. */
            title: string;
        };
        /** @description How a child ended, as far as its parent knows. */
        SubagentStatus: ("completed" | "failed" | "timed_out" | "cancelled") | "detached";
        /** @description A text in a file of the run. */
        TextBlob: {
            /** Format: uint64 */
            bytes: number;
            /** @description BLAKE3, in hexadecimal digits. */
            hash: string;
            /** @description Path in the run's folder. */
            path: string;
        };
        /** @description The deadline of a question has passed. */
        TimedOut: {
            interaction_id: components["schemas"]["InteractionId"];
        };
        /**
         * Format: date-time
         * @description A moment in UTC.
         */
        Timestamp: string;
        /** @description A tool call has succeeded. */
        ToolCallCompleted: {
            output?: string | null;
            sanitized?: boolean;
            truncated?: boolean;
        };
        /** @description A tool call has failed. */
        ToolCallFailed: {
            output?: string | null;
            reason: string;
            sanitized?: boolean;
            /** @description Written by skillrun because the turn ended before the call did. */
            synthetic?: boolean;
            truncated?: boolean;
        };
        /** @description The agent uses a tool; `correlation.tool_call_id` identifies the call. */
        ToolCallStarted: {
            input?: unknown;
            name: string;
            truncated?: boolean;
        };
        /**
         * @description The progress of a tool call.
         * @enum {string}
         */
        ToolCallStatus: "started" | "completed" | "failed";
        /**
         * @description How a tool call ended.
         * @enum {string}
         */
        ToolOutcome: "ok" | "failed";
        /**
         * @description A turn of the agent has ended. A message is an answer only if the end of a turn with the state `completed` names it;
         *     all other messages of the turn are work on the way, or text of a turn that broke off.
         */
        TurnEnded: {
            /** @description Only in a turn that completed: the message that is its answer. */
            answer_message_id?: string | null;
            /** @description When a time limit that the turn has reached was over. */
            deadline_at?: components["schemas"]["Timestamp"] | null;
            error?: components["schemas"]["RunError"] | null;
            /** @description The limit that the turn has reached. */
            limit?: components["schemas"]["TurnLimit"] | null;
            /** @description What the user can do next. */
            next_actions?: components["schemas"]["NextAction"][];
            reason_code: components["schemas"]["Code"];
            state: components["schemas"]["TurnState"];
        };
        /** @description A limit of a turn, by the option that sets it. */
        TurnLimit: "hard_sec" | "stall_sec" | "max_bytes" | "session_timeout_sec" | "memory_bytes" | "processes" | "cpu_sec" | "disk_bytes";
        /** @description A turn of the agent begins. Messages that follow are not answers before the end of the turn says so. */
        TurnStarted: Record<string, never>;
        /**
         * @description How a turn ended; exactly one per attempt, written once.
         * @enum {string}
         */
        TurnState: "completed" | "partial_failed" | "failed" | "interrupted" | "timed_out";
        /** @description Token counts of a turn, as far as the engine reported them; the engine's own figures are in `reported`. */
        TurnUsage: {
            /** Format: uint64 */
            cached_input_tokens: number | null;
            /** Format: uint64 */
            input_tokens: number | null;
            /** Format: uint64 */
            output_tokens: number | null;
            /** Format: uint64 */
            reasoning_tokens: number | null;
            reported?: {
                [key: string]: unknown;
            };
        };
        /** @description A question was answered. */
        UserInputReplied: {
            interaction_id: components["schemas"]["InteractionId"];
            resolution_mode: components["schemas"]["ResolutionMode"];
            /** @description The text of the answer. */
            text: string;
        };
        /**
         * @description The message that begins a turn, as it was sent to the agent. `correlation.interaction_id` is that of the reply that
         *     it carries, if it carries one.
         */
        UserMessage: {
            /** @description Names of files in `inputs/` that came with it. */
            files?: string[];
            origin: components["schemas"]["MessageOrigin"];
            /** @description The session before was lost: another one begins, and the replay of the run precedes the text. */
            replayed?: components["schemas"]["ReplayedHistory"] | null;
            /** @description The exact text; its beginning if `whole` is present. With `replayed`, only what follows the replay. */
            text: string;
            /** @description Where the exact text is, if it is too large for an event. */
            whole?: components["schemas"]["TextBlob"] | null;
        };
        /** @description The message that began the turn, as the agent received it. */
        UserMessageToShow: {
            /** @description Names of files that came with it. */
            files?: string[];
            /** @description The reply that the message carries. A frontend that has shown this reply does not show the message again. */
            interaction_id?: components["schemas"]["InteractionId"] | null;
            origin: components["schemas"]["MessageOrigin"];
            /**
             * @description The agent's session was lost. Another one begins with this message, and the agent received a transcript of the
             *     conversation before it.
             */
            replayed?: boolean;
            /** @description The beginning, if `truncated` is true. */
            text: string;
            truncated?: boolean;
        };
        /** @description Result of `settle`: decided once, from evidence alone. */
        Verdict: {
            answer_message_id?: string | null;
            completion: components["schemas"]["CompletionState"];
            /**
             * Format: double
             * @description The lower of the confidences of the end evidence and the answer.
             */
            confidence: number;
            /** @description The limit that the engine named. Absent otherwise, and in Logs of versions that did not record it. */
            engine_limit?: components["schemas"]["EngineLimit"] | null;
            error?: components["schemas"]["RunError"] | null;
            evidence: components["schemas"]["VerdictEvidence"];
            output?: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: uint64
             * @description Size of an output that is too large for an event.
             */
            output_bytes?: number | null;
            pending?: components["schemas"]["Interaction"] | null;
            reason_code: components["schemas"]["Code"];
            /** @description The model or its service declined to answer. Absent otherwise, and in Logs of versions that did not record it. */
            refused?: boolean;
            rule: components["schemas"]["Rule"];
            run_status: components["schemas"]["RunStatus"];
            turn: components["schemas"]["TurnState"];
            warnings: components["schemas"]["Code"][];
        };
        /** @description The byte ranges that support a verdict. */
        VerdictEvidence: {
            answer: components["schemas"]["SpanRef"][];
            end: components["schemas"]["SpanRef"][];
            marker: components["schemas"]["SpanRef"][];
        };
        /** @description A report as it is returned to clients. */
        Verification: {
            checks: components["schemas"]["VerifyCheck"][];
            /** @description The first check that failed. */
            first_break: components["schemas"]["VerifyCheck"] | null;
            /** @description No check failed. What could not be compared is not a failure. */
            is_good: boolean;
            /** @description How far the Log was read; absent where its last line was written by a version before the chain. */
            log_head: components["schemas"]["LogHead"] | null;
            run_id: components["schemas"]["RunId"];
            /** @description As far as the Log can be read. */
            status: components["schemas"]["RunStatus"] | null;
        };
        /** @description Whether a missing file should exist. */
        VerifyAbsence: "lost" | "not_yet";
        /** @description One check. */
        VerifyCheck: {
            /** @description None for a check of the whole run. */
            attempt: components["schemas"]["AttemptNumber"] | null;
            what: components["schemas"]["VerifyKind"];
        } & ({
            /** @constant */
            outcome: "same";
        } | {
            /** @description The first difference, and where it is. */
            difference: string;
            /** @constant */
            outcome: "different";
        } | {
            /** @constant */
            outcome: "changed_since";
            what_changed: string;
        } | {
            /** @constant */
            outcome: "not_comparable";
            why: string;
        } | {
            absence: components["schemas"]["VerifyAbsence"];
            /** @constant */
            outcome: "missing";
            why: string;
        });
        /** @description What is compared with what. */
        VerifyKind: ("result" | "conversation" | "diagnostics") | "log" | "chain" | "head" | "record" | "skill" | "inputs" | "evidence_files" | "evidence_events" | "coverage" | "verdict" | "large_output" | "meta" | "run_checks" | "artifacts";
        /** @description The versions that wrote the events. */
        Versions: {
            engine: string | null;
            /** Format: uint32 */
            profile: number;
            skillrun: string;
        };
        /** @description A run that waits for an answer, and the whole question. */
        WaitingRun: {
            engine: string | null;
            question: components["schemas"]["Interaction"];
            run_id: components["schemas"]["RunId"];
            skill: string | null;
            /** @description The beginning of the prompt of a run without a skill. */
            title?: string | null;
        };
        /** @description Whether the file of a workflow can be carried out. */
        WorkflowCheck: {
            /** @description The steps of a valid file. */
            plan?: components["schemas"]["PlannedWorkflow"] | null;
            /** @description The first thing that is wrong, in one sentence with its line. */
            problem?: string | null;
            valid: boolean;
        };
        /** @description The workflow has ended; the end of its run follows. */
        WorkflowEnded: {
            /** @description Safe to do: nothing of it repeats a step that is ready. */
            next_actions?: components["schemas"]["NextAction"][];
            /** @description True for a completed workflow alone. */
            ok: boolean;
            outcome: components["schemas"]["WorkflowOutcome"];
            /** @description The `outputs` of the workflow, as far as the steps to which they point are ready. */
            output?: {
                [key: string]: unknown;
            } | null;
            steps: components["schemas"]["StepSummary"][];
        };
        /** @description The workflow has ended. It was successful only if its outcome is `completed`. */
        WorkflowEndedToShow: {
            ok: boolean;
            outcome: components["schemas"]["WorkflowOutcome"];
        };
        /** @description How a workflow ended. */
        WorkflowOutcome: ("failed" | "timed_out" | "cancelled") | "completed" | "partial" | "held";
        /** @description How a workflow ended. */
        WorkflowResult: {
            /** @description True for a completed workflow alone. */
            ok: boolean;
            outcome: components["schemas"]["WorkflowOutcome"];
            steps: components["schemas"]["StepSummary"][];
        };
        /** @description The workflow has begun. */
        WorkflowStarted: {
            /** @description When its time is over. */
            deadline_at?: components["schemas"]["Timestamp"] | null;
            name: string;
            /** @description The earlier run of the workflow whose ready steps count here too, if they are the same. */
            reuses?: components["schemas"]["RunId"] | null;
            /**
             * Format: uint32
             * @description The number of its steps.
             */
            steps: number;
        };
        /** @description A workflow with its steps, in the order of the file. */
        WorkflowView: {
            deadline_at?: components["schemas"]["Timestamp"] | null;
            name: string;
            next_actions?: components["schemas"]["NextAction"][];
            /** @description True for a completed workflow alone. */
            ok: boolean;
            /** @description Absent until the workflow has ended. */
            outcome?: components["schemas"]["WorkflowOutcome"] | null;
            retry_of?: components["schemas"]["RunId"] | null;
            run_id: components["schemas"]["RunId"];
            status: components["schemas"]["RunStatus"];
            steps: components["schemas"]["StepView"][];
        };
        /** @description One change of the workspace. */
        WorkspaceChange: {
            after?: components["schemas"]["FileVersion"] | null;
            before?: components["schemas"]["FileVersion"] | null;
            change: components["schemas"]["ChangeKind"];
            /** @description How its text changed, line by line. */
            diff?: string | null;
            /** @description Whether secrets in the difference are masked, so that it is not the exact one. */
            diff_masked?: boolean;
            /** @description Why there is no difference: a word such as `binary` or `too_large`. */
            diff_omitted?: string | null;
            /** @description Relative to the root of the workspace. */
            path: components["schemas"]["OsText"];
        };
        /** @description A folder of the user to work in. */
        WorkspaceChoice: {
            /**
             * @description Whether the run works in a copy of the folder instead; `POST /v1/runs/{run_id}/apply` takes its changes over.
             * @default false
             */
            copy?: boolean;
            /** @description Absolute. */
            path: string;
            /**
             * @description Whether other runs may work there at the same time.
             * @default false
             */
            share?: boolean;
        };
        /** @description Whether the engine may take settings from the workspace that start programs or name addresses. */
        WorkspaceSettings: "ignore" | "allow";
        /** @description Something in a file of the workspace that an engine could start or use. */
        WorkspaceStart: {
            /** @description Relative to the workspace; begins with `..` if the engine finds it in a folder above, within the same repository. */
            file: string;
            kind: components["schemas"]["StartKind"];
            state: components["schemas"]["StartState"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process responds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server is ready */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is not ready yet, or a problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "text/plain": string;
                };
            };
        };
    };
    create_download: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "path": "/v1/runs/0190c0de-0000-7000-8000-000000000000/bundle?full=true"
                 *     }
                 */
                "application/json": components["schemas"]["CreateDownload"];
            };
        };
        responses: {
            /** @description The link */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Download"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_engines: {
        parameters: {
            query?: {
                /** @description Whether the versions of the programs are determined, which takes a moment. */
                probe?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sorted by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EngineList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_open_interactions: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Maximum number of questions; default 50, at most 500. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of questions, nearest deadline first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenInteractionList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Only runs of this engine. */
                engine?: string;
                /** @description Maximum number of runs; default 50, at most 500. */
                limit?: number;
                /** @description Only runs that this run has asked for. */
                parent?: string;
                /** @description Words to search for in ids, skills, engines, codes and questions. */
                q?: string;
                /** @description Only runs of this skill. */
                skill?: string;
                /** @description One status, or several separated by commas. */
                status?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: {
                /** @description A repeated request with the same key does not create a second run */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "skill": "count-words",
                 *       "engine": "scripted",
                 *       "input": {
                 *         "text": "one two three"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["CreateRun"];
                "multipart/form-data": components["schemas"]["CreateRunForm"];
            };
        };
        responses: {
            /** @description The current state of the run: over or waiting for an answer, if `wait` was long enough */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The run was accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND, SKILL_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: WRONG_STATE, WORKSPACE_IN_USE */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: IDEMPOTENCY_KEY_REUSED, CANNOT_RUN, INPUT_INVALID, SKILL_INVALID, WEBHOOK_ADDRESS_REFUSED */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: QUEUE_FULL, TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING, OWNER_SILENT */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run was removed, with its Log and its evidence */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: NOT_YET */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    apply_changes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "check": true
                 *     }
                 */
                "application/json": components["schemas"]["ApplyChanges"];
            };
        };
        responses: {
            /** @description What was applied, or can be */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplyReport"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: NOT_YET, APPLY_CONFLICT */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED, EVIDENCE_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CANNOT_RUN */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_artifacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The artifacts, sorted by path */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The path of the file, as given in the list of artifacts; slashes are not escaped. */
                path: string;
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: NOT_FOUND, RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED, ARTIFACT_CHANGED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RANGE_NOT_SATISFIABLE */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_attempts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The attempts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_bundle: {
        parameters: {
            query?: {
                /** @description Include the Log and the evidence; secrets are masked. */
                full?: boolean;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bundle */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
            /** @description The requested range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: NOT_YET */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RANGE_NOT_SATISFIABLE */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run is canceled */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The run is being canceled */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_OVER */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING, OWNER_SILENT */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_chat: {
        parameters: {
            query?: {
                /** @description The id of the last event the client has; the header `Last-Event-ID` takes precedence. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events `chat_event`, whose `id` is the cursor; `reset` when the cursor is no longer valid */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The run is over and the client has every event */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS, TOO_MANY_STREAMS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    chat_history: {
        parameters: {
            query?: {
                /** @description Return events after this one: `next_cursor` of the previous page. */
                cursor?: string;
                /** @description The first seq to return. */
                from_seq?: number;
                /** @description Only events at or after this time (RFC 3339). */
                from_ts?: string;
                /** @description Maximum number of events; default 100, at most 1000. */
                limit?: number;
                /** @description The last seq to return. */
                to_seq?: number;
                /** @description Only events at or before this time (RFC 3339). */
                to_ts?: string;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageFoot"] & {
                        events: components["schemas"]["FcmpEvent"][];
                    };
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CURSOR_RESET */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    close_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversation is closed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: WRONG_STATE, RUN_OVER */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING, OWNER_SILENT */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    continue_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: {
                /** @description A repeated request with the same key does not create a second run */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "engine": "scripted",
                 *       "prompt": "And now the tests."
                 *     }
                 */
                "application/json": components["schemas"]["ContinueRun"];
            };
        };
        responses: {
            /** @description The current state of the run: over or waiting for an answer, if `wait` was long enough */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The new run was accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: WORKSPACE_IN_USE */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: IDEMPOTENCY_KEY_REUSED, CANNOT_RUN, INPUT_INVALID, SKILL_INVALID, WEBHOOK_ADDRESS_REFUSED */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: QUEUE_FULL, TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_diagnosis: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The diagnosis */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diagnosis"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_diff: {
        parameters: {
            query?: {
                /** @description Only this attempt. */
                attempt?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diff"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED, EVIDENCE_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_events: {
        parameters: {
            query?: {
                /** @description The id of the last event the client has; the header `Last-Event-ID` takes precedence. */
                cursor?: string;
                /** @description Which events of RASP are shown. */
                taxonomy?: "all" | "frontend";
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events `run_event`, whose `id` is the cursor; `reset` when the cursor is no longer valid */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The run is over and the client has every event */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS, TOO_MANY_STREAMS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_at: {
        parameters: {
            query: {
                /** @description The attempt, from 1. */
                attempt: number;
                /** @description The offset of the byte in that stream of that attempt. */
                offset: number;
                /** @description Streams that events are derived from. */
                stream: "stdout" | "stderr";
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, in order */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description There are more events than these. */
                        cut: boolean;
                        events: components["schemas"]["RaspEvent"][];
                    };
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_history: {
        parameters: {
            query?: {
                /** @description Return events after this one: `next_cursor` of the previous page. */
                cursor?: string;
                /** @description The first seq to return. */
                from_seq?: number;
                /** @description Only events at or after this time (RFC 3339). */
                from_ts?: string;
                /** @description Maximum number of events; default 100, at most 1000. */
                limit?: number;
                /** @description Which events of RASP are shown. */
                taxonomy?: "all" | "frontend";
                /** @description The last seq to return. */
                to_seq?: number;
                /** @description Only events at or before this time (RFC 3339). */
                to_ts?: string;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageFoot"] & {
                        events: components["schemas"]["RaspEvent"][];
                    };
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CURSOR_RESET */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_outline: {
        parameters: {
            query?: {
                /** @description The first seq to return; default 1. */
                from_seq?: number;
                /** @description Maximum number of events; default 20000, at most 50000. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, in columns */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Outline"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CURSOR_RESET */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_interaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The question */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Interaction"];
                };
            };
            /** @description The run has no pending question */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reply: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "interaction_id": 1,
                 *       "text": "Aurora"
                 *     }
                 */
                "application/json": components["schemas"]["Reply"];
                "multipart/form-data": components["schemas"]["ReplyForm"];
            };
        };
        responses: {
            /** @description The answer was accepted; the current state of the run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STALE_INTERACTION, OTHER_VARIABLES, RUN_OVER */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CANNOT_RUN */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING, OWNER_SILENT */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_interactions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InteractionList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    interrupt_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "say": "Use the other file."
                 *     }
                 */
                "application/json": components["schemas"]["InterruptRun"];
            };
        };
        responses: {
            /** @description The turn is interrupted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The turn is being interrupted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: WRONG_STATE */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CANNOT_RUN */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING, OWNER_SILENT */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_raw: {
        parameters: {
            query: {
                /** @description The attempt, from 1. */
                attempt: number;
                /** @description The offset of the first byte; the header `Range` has the same effect. */
                from?: number;
                /** @description A stream of an attempt. */
                stream: "stdout" | "stderr" | "pty" | "stdin";
                /** @description The offset after the last byte. */
                to?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All bytes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested range; Content-Range has the total size */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: NOT_FOUND, RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED, EVIDENCE_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RANGE_NOT_SATISFIABLE */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_recording: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The recording, with a marker per event */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-asciicast": string;
                };
            };
            /** @description The requested range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-asciicast": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED, EVIDENCE_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RANGE_NOT_SATISFIABLE */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replay_run: {
        parameters: {
            query?: {
                /** @description Also render the items in this dialect. */
                dialect?: "text" | "anthropic-messages" | "openai-responses" | "openai-chat";
                /** @description Only turns that ended at or before the event with this `seq`. */
                upto?: number;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The turns that are over, and what was left out of them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayView"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_request: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request, with every default filled in and secrets masked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunRequest"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_result: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResult"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: NOT_YET */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: {
                /** @description A repeated request with the same key does not create a second run */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "input": {
                 *         "text": "four five"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["RetryRun"];
            };
        };
        responses: {
            /** @description The current state of the run: over or waiting for an answer, if `wait` was long enough */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The new run was accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: WORKSPACE_IN_USE */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: IDEMPOTENCY_KEY_REUSED, CANNOT_RUN, INPUT_INVALID, SKILL_INVALID, WEBHOOK_ADDRESS_REFUSED */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: QUEUE_FULL, TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    run_tree: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runs, each after its parent */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunTree"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    diagnose_tree: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runs, and what was checked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FamilyDiagnosis"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verify_run: {
        parameters: {
            query?: {
                /** @description A `log_head` from an earlier response, as `HASH` or `SEQ:HASH`; the Log must still contain it. */
                head?: string;
            };
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The checks and their results */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verification"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_deliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflow */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowView"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CANNOT_RUN */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry_workflow: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: {
                /** @description A repeated request with the same key does not create a second run */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The run. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "from_failed": true
                 *     }
                 */
                "application/json": components["schemas"]["RetryWorkflow"];
            };
        };
        responses: {
            /** @description The current state of the run: over or waiting for an answer, if `wait` was long enough */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The new workflow was accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: WORKSPACE_IN_USE */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: IDEMPOTENCY_KEY_REUSED, CANNOT_RUN, INPUT_INVALID, SKILL_INVALID, WEBHOOK_ADDRESS_REFUSED */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: QUEUE_FULL, TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    begin_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "code": "the code of a link"
                 *     }
                 */
                "application/json": components["schemas"]["BeginSession"];
            };
        };
        responses: {
            /** @description The token of this browser */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token is revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_skills: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sorted by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkillList"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    install_skill: {
        parameters: {
            query?: {
                /** @description Whether an installed skill of the same name is replaced. */
                replace?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["SkillForm"];
            };
        };
        responses: {
            /** @description The skill was installed */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Skill"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_EXISTS */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_INVALID */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_skill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the skill, as given in the list of skills. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The skill */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Skill"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_INVALID */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_skill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the skill, as given in the list of skills. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The skill was removed; runs keep their copies of it */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_patched_skill: {
        parameters: {
            query?: {
                /** @description One of `GET /v1/engines`, whose opening text is shown. Default: the text of engines that have none of their own. */
                engine?: string;
                /** @description Default: the mode the skill prefers. */
                mode?: "auto" | "interactive" | "conversation";
            };
            header?: never;
            path: {
                /** @description The name of the skill, as given in the list of skills. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text, and which lines were added */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PatchedSkill"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: CANNOT_RUN, SKILL_INVALID */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_runs: {
        parameters: {
            query?: {
                /**
                 * @description The id of the last event the client has; without one, or with one from before a restart of the server, the
                 *     stream begins with `reset`.
                 */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events `reset` (the newest runs), `run` and `removed`; the `id` is the cursor */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS, TOO_MANY_STREAMS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    validate_skill: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["SkillForm"];
            };
        };
        responses: {
            /** @description The skill, with its errors and warnings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkillCheck"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_INVALID */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_workflow: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run or for a question; at most 600. */
                wait?: number;
            };
            header?: {
                /** @description A repeated request with the same key does not create a second run */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "workflow": "steps:\n  - id: greet\n    prompt: Say hello.\n    engine: scripted\n"
                 *     }
                 */
                "application/json": components["schemas"]["CreateWorkflow"];
            };
        };
        responses: {
            /** @description The current state of the run: over or waiting for an answer, if `wait` was long enough */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The workflow was accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: SKILL_NOT_FOUND */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: WORKSPACE_IN_USE */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: RUN_REMOVED */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: IDEMPOTENCY_KEY_REUSED, CANNOT_RUN, INPUT_INVALID, SKILL_INVALID, WEBHOOK_ADDRESS_REFUSED */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: QUEUE_FULL, TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    validate_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "workflow": "steps:\n  - id: greet\n    prompt: Say hello.\n    engine: scripted\n"
                 *     }
                 */
                "application/json": components["schemas"]["CheckWorkflow"];
            };
        };
        responses: {
            /** @description Whether the file can be carried out, and its steps */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowCheck"];
                };
            };
            /** @description A problem: INVALID_REQUEST */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNAUTHORIZED */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_SLOW */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: BODY_TOO_LARGE */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: UNSUPPORTED_MEDIA_TYPE */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: TOO_MANY_REQUESTS */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: STOPPING */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A problem: DISK_FULL */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
