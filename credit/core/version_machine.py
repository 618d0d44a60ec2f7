"""The statuses of a version of a scoring model, and who may move it between them."""

from config.core.lifecycle import Machine, Role

DRAFT, PUBLISHED, RETIRED = "draft", "published", "retired"
CHAMPION, CHALLENGER = "champion", "challenger"
PUBLISH = "credit.publish_modelversion"

# A published version is published again to give it the other role.
MACHINE = Machine(
    {
        DRAFT: {PUBLISHED: Role.OWNER, RETIRED: Role.OWNER},
        PUBLISHED: {PUBLISHED: Role.OWNER, RETIRED: Role.OWNER},
        RETIRED: {},
    }
)
