//! Makes metrics, registers them, and lists their names, labels and meanings.

use std::cell::RefCell;

use prometheus::{
    CounterVec, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry,
};

/// What there is to know of a metric before it has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricDescription {
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    pub labels: Vec<String>,
    pub help: String,
}

/// Makes metrics and registers them.
pub(super) struct Build<'a> {
    registry: &'a Registry,
    described: RefCell<Vec<MetricDescription>>,
}

#[expect(clippy::expect_used, reason = "names and labels are constants; a test builds them all")]
impl<'a> Build<'a> {
    pub(super) fn new(registry: &'a Registry) -> Self {
        Self { registry, described: RefCell::default() }
    }

    /// What was made.
    pub(super) fn described(self) -> Vec<MetricDescription> {
        self.described.into_inner()
    }

    fn register<M: prometheus::core::Collector + Clone + 'static>(
        &self,
        kind: &'static str,
        metric: prometheus::Result<M>,
    ) -> M {
        let metric = metric.expect("the name is valid");
        let described = metric.desc().into_iter().map(|of| MetricDescription {
            name: of.fq_name.clone(),
            kind,
            labels: of.variable_labels.clone(),
            help: of.help.clone(),
        });
        self.described.borrow_mut().extend(described);
        self.registry.register(Box::new(metric.clone())).expect("the name is new");
        metric
    }

    /// Memory, processor time, descriptors and start of the process, under the names that Prometheus gives them.
    pub(super) fn process(&self) {
        #[cfg(target_os = "linux")]
        self.registry
            .register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))
            .expect("the names are new");
    }

    fn options(name: &str, help: &str) -> Opts {
        Opts::new(format!("portcullis_{name}"), help)
    }

    pub(super) fn counter(&self, name: &str, help: &str) -> IntCounter {
        self.register("counter", IntCounter::with_opts(Self::options(name, help)))
    }

    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.register("counter", IntCounterVec::new(Self::options(name, help), labels))
    }

    pub(super) fn numbers(&self, name: &str, help: &str, labels: &[&str]) -> GaugeVec {
        self.register("gauge", GaugeVec::new(Self::options(name, help), labels))
    }

    pub(super) fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.register("gauge", IntGauge::with_opts(Self::options(name, help)))
    }

    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.register("gauge", IntGaugeVec::new(Self::options(name, help), labels))
    }

    /// By a name of the telemetry conventions, without a prefix of ours.
    pub(super) fn plain_counters(&self, name: &str, help: &str, labels: &[&str]) -> CounterVec {
        self.register("counter", CounterVec::new(Opts::new(name, help), labels))
    }

    /// The same for histograms.
    pub(super) fn plain_histograms(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
        labels: &[&str],
    ) -> HistogramVec {
        let options = HistogramOpts::from(Opts::new(name, help)).buckets(buckets.to_vec());
        self.register("histogram", HistogramVec::new(options, labels))
    }

    pub(super) fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Histogram {
        let options = HistogramOpts::from(Self::options(name, help)).buckets(buckets.to_vec());
        self.register("histogram", Histogram::with_opts(options))
    }

    pub(super) fn histograms(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
        labels: &[&str],
    ) -> HistogramVec {
        let options = HistogramOpts::from(Self::options(name, help)).buckets(buckets.to_vec());
        self.register("histogram", HistogramVec::new(options, labels))
    }
}
