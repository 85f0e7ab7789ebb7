"""English words that tell the parts of a name apart: verbs, adjectives, and nouns with the endings of adjectives."""

VERBS = frozenset(
    """abort accept acquire act activate adapt add adjust affect allocate allow amend announce answer append
    apply approve ask assign assume attach attempt attend authorize avoid await become behave belong bind
    block boot break bring broadcast build bypass calculate call cancel capitalize capture carry catch
    change check choose clean clear close coerce collapse collect combine come commit compare compile
    complete comply compress compute confirm conflict conform connect consist consume contain continue
    convert convey correspond cost cover create customize deactivate decode decorate decrypt defer define
    delete deliver demand deny depend deploy derive describe deserve destroy detect determine differ disable
    disallow discard disconnect display download drop edit embed emit enable encode encrypt end enforce
    enqueue ensure enter equal escape evaluate exceed exclude exist exit expand expect expire explain export
    expose extend extract fail fetch find finish fit flatten flush follow forbid force forget format forward
    fulfill gain generate get go grant grow handle happen help hide hold identify ignore implement imply
    import impose include inherit inject insert inspect install instantiate interpolate intersect invite
    invoke join keep know lack lead leave lie limit listen live load lock look love maintain
    make manage match mean mention merge migrate miss modify move mutate need negate normalize notify
    observe occur offer omit open overlap override overwrite own paginate parse pass pay perform permit
    persist pick ping play point possess prefer prepare prepend preserve prevent print prioritize proceed
    process produce prompt propagate propose protect provide publish pull purge push query quit raise reach
    read rebuild receive recover redirect reduce refer reflect refresh refund refuse register reject relate
    release reload rely remain remember remove rename render reopen repeat replace reply represent require
    resemble resend reset resolve respond restart restore restrict retain retrieve retry return reuse revert
    revoke rewrite rotate run sanitize satisfy save scan schedule search see seem select sell send serialize
    serve set share ship show sign simulate skip sleep smell sort sound spawn specify split stand start stay
    stop store strip submit subscribe succeed suit support suppress survive suspend swap switch sync take
    taste tell terminate throw toggle touch track transform translate traverse treat trigger trim truncate
    trust try turn unlock unsubscribe unwrap update upgrade upload use validate vary verify visit vote wait
    want warn watch wish work wrap write yield""".split()  # noqa: SIM905 - a list of words reads better as a text
)
ADJECTIVES = frozenset(
    """absent active adult alive alone available bad begun better big blank bound broken built busy cheap chosen
    clean clear closed cold complete correct current customizable dead deep default different dirty done drawn
    due early easy empty equal even expensive external false fast former female final finite first fit forbidden free
    fresh frozen full fuzzy given gone good great green held hidden high hot idle illegal immutable inactive
    incomplete incorrect infinite inner internal invalid joint known large last late latter lazy left legal light live loaded
    local locked long loose lost low lower main major male manual mature minor missing mutable negative new nil normal
    null odd off offline ok okay old on online only open other outer overdue overridden paid partial past pending perfect
    persistent plain positive possible premium present previous primary private proper public quick quiet rare raw read
    ready real recent red remote required rich right round safe same secondary secret secure seen sent serious
    set shallow short shown shut sick silent simple single skipped slow small smart soft sold solid sorry
    special spent stale static stopped strict strong stuck super sure suspicious taken tall temporary thin tight tiny
    told top true typical ugly unique unknown unpaid unsafe up upcoming upper urgent valid vip visible void weak
    weird welcome wet white whole wide wild withdrawn written wrong young zero""".split()  # noqa: SIM905 - a list of words reads better as a text
)
NOUNS = frozenset(  # that look like adjectives
    """accent account agent amount applicant archive argument assistant attachment bed billing booking boundary
    building cable category client comment component constant content department dictionary directive directory
    document drive element environment event executive fabric factory feed grant heading history incident
    inventory judgment king landing library list listing live mailing meeting memory merchant metric moment
    music native need objective parent participant payment percent ping plant pricing public rating repository
    restaurant ring salary secretary seed setting shipment shipping speed spring story string student summary
    table tenant territory thing topic unless username variable variant""".split()  # noqa: SIM905 - a list of words reads better as a text
)
ROLES = frozenset(  # nouns that a single predicate asks for, without an ending that tells: `user.admin?`
    """admin administrator author bot child copy descendant directory draft duplicate file friend guest host leaf manager
    member moderator owner parent participant recipient resident root student symlink template user""".split()  # noqa: SIM905 - a list of words reads better as a text
)
FLAGS = frozenset(  # adjectives that are the name of a flag
    """active admin anonymous default dirty disabled enabled force hidden invalid local private public remote silent
    suspicious terminal valid verbose visible""".split()  # noqa: SIM905 - a list of words reads better as a text
)
NOUN_VERBS = frozenset(  # verbs that are nouns as often
    """answer attempt block build call change check commit cost cover display download drop end exit export force format
    help import limit lock look match move need offer ping play point print process prompt push query reach read
    refund register release reply return run schedule search set share ship sign sort sound split stand start stay stop
    store support switch touch track trigger trust turn update upload use visit vote wait watch wish work
    yield""".split()  # noqa: SIM905 - a list of words reads better as a text
)
