-- Artifacts of finished runs that are to be deleted: now (due), or with their run. A row is written
-- with the fact that makes it so, and goes once the object is gone.
CREATE TABLE garbage (
    run    BIGINT NOT NULL,
    object TEXT   NOT NULL,
    space  TEXT   NOT NULL,
    due    BIGINT NOT NULL,
    PRIMARY KEY (run, object)
);

CREATE INDEX garbage_due ON garbage (run, object) WHERE due = 1;
