import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Lob;
import jakarta.persistence.LockModeType;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import jakarta.persistence.Version;

import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.dialect.SybaseASEDialect;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Hibernate: its schema tool, entities with relations, queries, locks, batches. */
public final class HibernateJudge {
    private static Judge judge;
    private static SessionFactory factory;

    enum Kind {
        SMALL,
        LARGE
    }

    @Entity(name = "Person")
    @Table(name = "person", indexes = @Index(name = "ix_person_name", columnList = "name"))
    public static class Person {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;

        @Version int version;

        @Column(length = 60, nullable = false)
        String name;

        LocalDate born;
        boolean active;

        @OneToMany(mappedBy = "person", cascade = CascadeType.ALL, orphanRemoval = true)
        @OrderBy("id")
        List<Invoice> invoices = new ArrayList<>();

        @ElementCollection Set<String> phones = new HashSet<>();

        public Person() {}

        Person(String name) {
            this.name = name;
        }
    }

    @Entity(name = "Invoice")
    @Table(name = "invoice")
    public static class Invoice {
        @Id
        @GeneratedValue(strategy = GenerationType.TABLE)
        Long id;

        @ManyToOne(fetch = FetchType.LAZY, optional = false)
        Person person;

        @Column(precision = 12, scale = 2)
        BigDecimal amount;

        LocalDateTime made;
        @ManyToMany Set<Label> labels = new HashSet<>();

        public Invoice() {}

        Invoice(Person person, String amount) {
            this.person = person;
            this.amount = new BigDecimal(amount);
            this.made = LocalDateTime.of(2024, 2, 29, 13, 14, 15);
        }
    }

    @Entity(name = "Label")
    @Table(name = "label")
    public static class Label {
        @Id
        @Column(length = 20)
        String code;

        @Column(unique = true, nullable = false)
        Integer rank;

        public Label() {}

        Label(String code, Integer rank) {
            this.code = code;
            this.rank = rank;
        }
    }

    @Entity(name = "Sorts")
    @Table(name = "sorts")
    public static class Sorts {
        @Id Integer id;
        Byte tiny;
        Short small;
        Long big;
        Float single;
        Double wide;

        @Column(precision = 30, scale = 10)
        BigDecimal exact;

        Character letter;
        byte[] raw;
        LocalTime time;
        LocalDateTime moment;
        @Lob String text;
        @Lob byte[] image;

        @Enumerated(EnumType.STRING)
        Kind kind;

        @Enumerated Kind number;
        Boolean maybe;

        public Sorts() {}
    }

    public static void main(String[] arguments) throws Exception {
        judge = new Judge(arguments, "hibernatedb");
        judge.expect("create the schema", true, () -> open("create-only") != null);
        judge.expect(
                "tables",
                "Person_phones,hibernate_sequences,invoice,invoice_label,label,person,sorts",
                () -> judge.read("select name from sysobjects where type = 'U' order by name"));
        judge.expect(
                "dialect",
                "SybaseASEDialect 16",
                () -> {
                    SybaseASEDialect dialect =
                            (SybaseASEDialect)
                                    factory.unwrap(
                                                    org.hibernate.engine.spi
                                                            .SessionFactoryImplementor.class)
                                            .getJdbcServices()
                                            .getDialect();
                    return dialect.getClass().getSimpleName()
                            + " "
                            + dialect.getVersion().getMajor();
                });
        judge.expect("validate the schema", true, () -> open("validate") != null);
        judge.expect("update the schema", true, () -> open("update") != null);
        step(
                "insert with identity",
                1L,
                s -> {
                    Person ann = new Person("Ann");
                    ann.born = LocalDate.of(1980, 2, 3);
                    ann.active = true;
                    ann.phones.add("1");
                    ann.phones.add("2");
                    s.persist(ann);
                    return ann.id;
                });
        step(
                "insert children",
                3,
                s -> {
                    Person ann = s.find(Person.class, 1L);
                    for (String amount : new String[] {"10.50", "20.25", "30"}) {
                        ann.invoices.add(new Invoice(ann, amount));
                    }
                    s.flush();
                    return ann.invoices.size();
                });
        step(
                "read by id",
                "Ann 1980-02-03 true 0",
                s -> {
                    Person ann = s.find(Person.class, 1L);
                    return ann.name + " " + ann.born + " " + ann.active + " " + ann.version;
                });
        step(
                "lazy collection",
                "10.50,20.25,30.00",
                s ->
                        s.find(Person.class, 1L).invoices.stream()
                                .map(each -> each.amount.toString())
                                .collect(Collectors.joining(",")));
        step(
                "element collection",
                "1,2",
                s ->
                        s.find(Person.class, 1L).phones.stream()
                                .sorted()
                                .collect(Collectors.joining(",")));
        step(
                "every type",
                "sorts",
                s -> {
                    Sorts one = sorts();
                    s.persist(one);
                    return "sorts";
                });
        step(
                "every type read",
                "7 -300 9000000000 1.5 2.25 12345678901234567890.0123456789 x 0102 11:12:13 "
                        + "2001-02-03T04:05:06 ttttt 3000 LARGE SMALL true",
                s -> {
                    Sorts one = s.find(Sorts.class, 1);
                    return one.tiny
                            + " "
                            + one.small
                            + " "
                            + one.big
                            + " "
                            + one.single
                            + " "
                            + one.wide
                            + " "
                            + one.exact
                            + " "
                            + one.letter
                            + " "
                            + String.format("%02x%02x", one.raw[0], one.raw[1])
                            + " "
                            + one.time
                            + " "
                            + one.moment
                            + " "
                            + one.text.substring(0, 5)
                            + " "
                            + one.image.length
                            + " "
                            + one.kind
                            + " "
                            + one.number
                            + " "
                            + one.maybe;
                });
        step(
                "NULL in every type",
                true,
                s -> {
                    Sorts none = new Sorts();
                    none.id = 2;
                    s.persist(none);
                    s.flush();
                    s.clear();
                    Sorts read = s.find(Sorts.class, 2);
                    return read.tiny == null
                            && read.big == null
                            && read.exact == null
                            && read.raw == null
                            && read.time == null
                            && read.text == null
                            && read.image == null
                            && read.kind == null
                            && read.maybe == null;
                });
        step(
                "batch of 200",
                200L,
                s -> {
                    for (int i = 0; i < 200; i++) {
                        s.persist(new Label("L" + i, i));
                    }
                    s.flush();
                    return s.createQuery("select count(*) from Label", Long.class)
                            .getSingleResult();
                });
        step("first page", "L0,L1,L10", s -> page(s, 0, 3));
        step("page in the middle", "L100,L101,L102", s -> page(s, 3, 3));
        step("last page", "L98,L99", s -> page(s, 198, 5));
        step(
                "query with a parameter",
                "L42",
                s ->
                        s.createQuery("select code from Label where rank = :r", String.class)
                                .setParameter("r", 42)
                                .getSingleResult());
        step(
                "query with a list",
                3,
                s ->
                        s.createQuery("from Label where rank in (:list)", Label.class)
                                .setParameterList("list", List.of(1, 2, 3))
                                .list()
                                .size());
        step(
                "like",
                11L,
                s ->
                        s.createQuery(
                                        "select count(*) from Label where code like 'L1_' or code ="
                                            + " 'L1'",
                                        Long.class)
                                .getSingleResult());
        step(
                "join fetch",
                3,
                s ->
                        s.createQuery(
                                        "select p from Person p join fetch p.invoices where p.name"
                                            + " = 'Ann'",
                                        Person.class)
                                .getSingleResult()
                                .invoices
                                .size());
        step(
                "left join",
                "Ann 3",
                s -> {
                    Object[] row =
                            s.createQuery(
                                            "select p.name, count(i.id) from Person p left join"
                                                + " p.invoices i group by p.name",
                                            Object[].class)
                                    .getSingleResult();
                    return row[0] + " " + row[1];
                });
        step(
                "sum, avg, max",
                "60.75 20.25 30.00",
                s -> {
                    Object[] row =
                            s.createQuery(
                                            "select sum(amount), avg(amount), max(amount) from"
                                                + " Invoice",
                                            Object[].class)
                                    .getSingleResult();
                    return row[0] + " " + row[1] + " " + row[2];
                });
        step(
                "subquery",
                1L,
                s ->
                        s.createQuery(
                                        "select count(*) from Person p where exists (select 1 from"
                                            + " Invoice i where i.person = p)",
                                        Long.class)
                                .getSingleResult());
        step(
                "functions",
                "ANN 3 nn An Ann!",
                s ->
                        s.createQuery(
                                        "select upper(name) || ' ' || cast(length(name) as string)"
                                            + " || ' ' || substring(name, 2) || ' ' || left(name,"
                                            + " 2) || ' ' || concat(name, '!') from Person",
                                        String.class)
                                .getSingleResult());
        step(
                "case and coalesce",
                "y none",
                s -> {
                    Object[] row =
                            s.createQuery(
                                            "select case when active = true then 'y' else 'n' end,"
                                                + " coalesce(cast(null as string), 'none') from"
                                                + " Person",
                                            Object[].class)
                                    .getSingleResult();
                    return row[0] + " " + row[1];
                });
        step(
                "dates in a query",
                1L,
                s ->
                        s.createQuery(
                                        "select count(*) from Person where born between :a and :b"
                                            + " and year(born) = 1980",
                                        Long.class)
                                .setParameter("a", LocalDate.of(1980, 1, 1))
                                .setParameter("b", LocalDate.of(1980, 12, 31))
                                .getSingleResult());
        step(
                "current timestamp",
                true,
                s ->
                        s.createQuery("select current_timestamp from Person", Object.class)
                                        .getSingleResult()
                                != null);
        step(
                "extract and date arithmetic",
                "2024 2 29 13",
                s -> {
                    Object[] row =
                            s.createQuery(
                                            "select extract(year from made), extract(month from"
                                                + " made), extract(day from made), extract(hour"
                                                + " from made) from Invoice where amount = 30",
                                            Object[].class)
                                    .getSingleResult();
                    return row[0] + " " + row[1] + " " + row[2] + " " + row[3];
                });
        step(
                "order by with nulls",
                3,
                s ->
                        s.createQuery(
                                        "from Invoice order by made desc nulls last, id",
                                        Invoice.class)
                                .list()
                                .size());
        step(
                "distinct",
                1,
                s ->
                        s.createQuery("select distinct i.person.name from Invoice i", String.class)
                                .list()
                                .size());
        step(
                "union",
                203,
                s ->
                        s.createQuery(
                                        "select code from Label union all select cast(amount as"
                                            + " string) from Invoice",
                                        String.class)
                                .list()
                                .size());
        step(
                "having",
                1,
                s ->
                        s.createQuery(
                                        "select person.id from Invoice group by person.id having"
                                            + " count(*) > 2",
                                        Long.class)
                                .list()
                                .size());
        step(
                "dto",
                3,
                s ->
                        s.createQuery("select i.id, i.amount * 2 from Invoice i", Object[].class)
                                .list()
                                .size());
        step(
                "native query",
                3,
                s ->
                        ((Number)
                                        s.createNativeQuery(
                                                        "select count(*) from invoice",
                                                        Object.class)
                                                .getSingleResult())
                                .intValue());
        step(
                "scroll",
                200,
                s -> {
                    int count = 0;
                    try (var rows =
                            s.createQuery("from Label", Label.class)
                                    .scroll(org.hibernate.ScrollMode.FORWARD_ONLY)) {
                        while (rows.next()) {
                            count++;
                        }
                    }
                    return count;
                });
        step(
                "bulk update",
                200,
                s -> s.createMutationQuery("update Label set rank = rank + 1000").executeUpdate());
        step(
                "bulk delete",
                100,
                s -> s.createMutationQuery("delete from Label where rank >= 1100").executeUpdate());
        step(
                "insert select",
                1,
                s ->
                        s.createMutationQuery(
                                        "insert into Label (code, rank) select name, 5 from Person")
                                .executeUpdate());
        step(
                "many to many",
                2,
                s -> {
                    Invoice first =
                            s.createQuery("from Invoice order by id", Invoice.class)
                                    .setMaxResults(1)
                                    .getSingleResult();
                    first.labels.add(s.find(Label.class, "L1"));
                    Label fresh = new Label("new", 1);
                    s.persist(fresh);
                    first.labels.add(fresh);
                    s.flush();
                    s.clear();
                    return s.find(Invoice.class, first.id).labels.size();
                });
        step(
                "member of",
                1L,
                s ->
                        s.createQuery(
                                        "select count(*) from Invoice i join i.labels l where"
                                            + " l.code = 'new'",
                                        Long.class)
                                .getSingleResult());
        step(
                "update by version",
                1,
                s -> {
                    Person ann = s.find(Person.class, 1L);
                    ann.name = "Anna";
                    s.flush();
                    return ann.version;
                });
        judge.expect(
                "optimistic lock",
                "OptimisticLockException",
                () -> {
                    try (Session one = factory.openSession();
                            Session other = factory.openSession()) {
                        Person first = one.find(Person.class, 1L);
                        Person second = other.find(Person.class, 1L);
                        one.beginTransaction();
                        first.name = "first";
                        one.getTransaction().commit();
                        other.beginTransaction();
                        second.name = "second";
                        try {
                            other.getTransaction().commit();
                            return "none";
                        } catch (OptimisticLockException late) {
                            return "OptimisticLockException";
                        }
                    }
                });
        step(
                "pessimistic write",
                "first",
                s -> s.find(Person.class, 1L, LockModeType.PESSIMISTIC_WRITE).name);
        step(
                "pessimistic read",
                "first",
                s -> s.find(Person.class, 1L, LockModeType.PESSIMISTIC_READ).name);
        judge.expect(
                "a second session waits for the row",
                true,
                () -> {
                    Session one = factory.openSession();
                    one.beginTransaction();
                    one.createMutationQuery("update Person set name = 'held' where id = 1")
                            .executeUpdate();
                    Thread waiting =
                            new Thread(
                                    () ->
                                            transact(
                                                    s ->
                                                            s.createMutationQuery(
                                                                            "update Person set name"
                                                                                + " = 'after' where"
                                                                                + " id = 1")
                                                                    .executeUpdate()));
                    waiting.start();
                    while (judge.read("select count(*) from master..sysprocesses where blocked > 0")
                            .equals("0")) {
                        Thread.onSpinWait();
                    }
                    one.getTransaction().commit();
                    one.close();
                    waiting.join();
                    return judge.read("select name from person").equals("after");
                });
        judge.expect(
                "rollback",
                "after",
                () -> {
                    try (Session session = factory.openSession()) {
                        session.beginTransaction();
                        session.find(Person.class, 1L).name = "gone";
                        session.flush();
                        session.getTransaction().rollback();
                    }
                    return judge.read("select name from person");
                });
        judge.fails(
                "unique key",
                () ->
                        transact(
                                s -> {
                                    s.persist(new Label("dup", 1));
                                    return null;
                                }),
                2601);
        judge.fails(
                "not null",
                () ->
                        transact(
                                s ->
                                        s.createNativeMutationQuery(
                                                        "insert into person (version, active)"
                                                            + " values (0, 0)")
                                                .executeUpdate()),
                233,
                515);
        judge.fails(
                "foreign key",
                () ->
                        transact(
                                s ->
                                        s.createNativeMutationQuery("delete from person")
                                                .executeUpdate()),
                547);
        step(
                "remove with children",
                0L,
                s -> {
                    s.remove(s.find(Person.class, 1L));
                    s.flush();
                    return s.createQuery("select count(*) from Invoice", Long.class)
                            .getSingleResult();
                });
        judge.expect(
                "drop the schema",
                "",
                () -> {
                    open("create-drop").close();
                    return judge.read("select name from sysobjects where type = 'U'");
                });
    }

    private static SessionFactory open(String action) {
        if (factory != null) {
            factory.close();
        }
        Configuration configuration =
                new Configuration()
                        .setProperty("hibernate.connection.url", judge.url)
                        .setProperty("hibernate.connection.username", judge.user)
                        .setProperty("hibernate.connection.password", judge.password)
                        .setProperty("hibernate.hbm2ddl.auto", action)
                        .setProperty("hibernate.jdbc.batch_size", "50")
                        .setProperty("hibernate.hbm2ddl.halt_on_error", "true")
                        .setProperty("hibernate.connection.pool_size", "5");
        for (Class<?> each :
                new Class<?>[] {Person.class, Invoice.class, Label.class, Sorts.class}) {
            configuration.addAnnotatedClass(each);
        }
        factory = configuration.buildSessionFactory();
        return factory;
    }

    private static Object transact(Function<Session, Object> work) {
        return factory.fromTransaction(work::apply);
    }

    private static void step(String name, Object wanted, Function<Session, Object> work) {
        judge.expect(name, wanted, () -> transact(work));
    }

    private static String page(Session session, int first, int count) {
        return session
                .createQuery("select code from Label order by code", String.class)
                .setFirstResult(first)
                .setMaxResults(count)
                .list()
                .stream()
                .collect(Collectors.joining(","));
    }

    private static Sorts sorts() {
        Sorts one = new Sorts();
        one.id = 1;
        one.tiny = 7;
        one.small = -300;
        one.big = 9_000_000_000L;
        one.single = 1.5f;
        one.wide = 2.25;
        one.exact = new BigDecimal("12345678901234567890.0123456789");
        one.letter = 'x';
        one.raw = new byte[] {1, 2};
        one.time = LocalTime.of(11, 12, 13);
        one.moment = LocalDateTime.of(2001, 2, 3, 4, 5, 6);
        one.text = "t".repeat(5000);
        one.image = new byte[3000];
        one.kind = Kind.LARGE;
        one.number = Kind.SMALL;
        one.maybe = true;
        return one;
    }
}
