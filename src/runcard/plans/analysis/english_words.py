"""English words that tell the parts of a name apart: verbs, adjectives, and nouns with the endings of adjectives."""

VERBS = frozenset(
    """build calculate clean compare compute convert detect extract fetch format generate get load lookup merge normalize
    parse perform process query register resolve retrieve sanitize search transform update upload accept access add affect allow answer apply approve ask attend authorize belong block break bypass call
    cancel capture change check collect complete confirm contain continue cost cover create customize delete
    deliver depend deserve destroy differ display enable end equal exceed exclude exist expect expire export
    fail fit follow force grant handle happen hide hold ignore import include inherit intersect keep know lack
    lead leave limit live lock look love make manage match mean mention miss need notify occur offer open
    overlap overwrite own pass pay permit play point possess prefer prevent print provide publish read receive
    redirect refund refuse reject relate remain remove render repeat reply represent require resemble respond
    return run save see seem select sell send serve share ship show skip smell sort sound stand start stay stop
    store succeed suit support take taste tell track trust try use validate verify vote wait want watch wish
    work write""".split()  # noqa: SIM905 - a list of words reads better as a text
)
ADJECTIVES = frozenset(
    """absent active adult alive alone available bad begun better big blank bound broken built busy cheap chosen
    clean clear closed cold complete correct current customizable dead deep default different dirty done drawn
    due early easy empty equal even expensive external false fast female final finite first fit forbidden free
    fresh frozen full fuzzy given gone good great green held hidden high hot idle illegal immutable inactive
    incomplete incorrect infinite internal invalid joint known large last late lazy left legal light live loaded
    local locked long loose lost low main major male manual mature minor missing mutable negative new nil normal
    null odd off offline ok okay old on online only open overdue overridden paid partial past pending perfect
    persistent plain positive possible premium present previous primary private public quick quiet rare raw read
    ready real recent red remote required rich right round safe same secondary secret secure seen sent serious
    set shallow short shown shut sick silent simple single skipped slow small smart soft sold solid sorry
    special spent stale static stopped strict strong stuck sure suspicious taken tall temporary thin tight tiny
    told top total true typical ugly unique unknown unpaid unsafe up upcoming urgent valid vip visible void weak
    weird welcome wet white whole wide wild withdrawn written wrong young zero""".split()  # noqa: SIM905 - a list of words reads better as a text
)
NOUNS = frozenset(  # that look like adjectives
    """accent account agent amount applicant archive argument assistant attachment bed billing booking boundary
    building cable category client comment component constant content department dictionary directive directory
    document drive element environment event executive fabric factory feed grant heading history incident
    inventory judgment king landing library list listing live mailing meeting memory merchant metric moment
    music native need objective parent participant payment percent ping plant pricing public rating repository
    restaurant ring salary secretary seed setting shipment shipping speed spring story string student summary
    table tenant territory thing topic username variable variant""".split()  # noqa: SIM905 - a list of words reads better as a text
)
ROLES = frozenset(  # nouns that a single predicate asks for: `user.admin?`
    """admin administrator author bot buyer child collaborator contributor copy creator customer descendant draft duplicate
    editor father friend guest host leader leaf manager member moderator mother organizer owner parent participant
    publisher reader recipient reporter resident reviewer root seller sender student subscriber superuser teacher
    template user visitor winner writer""".split()  # noqa: SIM905 - a list of words reads better as a text
)
FLAGS = frozenset(  # adjectives that are the name of a flag
    """active admin anonymous default dirty disabled enabled force hidden invalid local private public remote silent
    suspicious terminal valid verbose visible""".split()  # noqa: SIM905 - a list of words reads better as a text
)
