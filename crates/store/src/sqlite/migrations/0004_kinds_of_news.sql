-- News that matter for a moment only must not push out those that last: the newest of each kind are kept.
-- 0 lasts, 1 passes.
ALTER TABLE toolrail_news ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;

CREATE INDEX IF NOT EXISTS idx_toolrail_news_kind ON toolrail_news (kind, id);
