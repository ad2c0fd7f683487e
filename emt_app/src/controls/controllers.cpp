// Exciter, stabilizer and governor of a machine: standard models, made of blocks named ELEMENT.part.
//
// With a machine G the exciter makes the signal G.efd from G.vt, G.ifd and, if there is a stabilizer, G.vs; the stabilizer G.vs
// from G.speed, G.pe, G.vt and G.pm; the governor G.pm from G.speed. "model" names the model; parameters have the names of the standard.
#include <algorithm>

#include "controls/model.hpp"
#include "elements/element.hpp"

namespace emt {
namespace {

class Controller final : public Element {
public:
    Controller(Reader& in, const std::vector<ControlModel>& models, bool referenced)
        : name_(in.name()), model_(choose(in, models)), parameters_(model_.parameters, in), connection_{in.signal("machine", "name of a synchronous machine"), {}, {}} {
        for (const std::string& problem : {parameters_.wrong_limits(), model_.problem == nullptr ? std::string() : model_.problem(parameters_)})
            if (!problem.empty()) in.report()("out-of-range", problem);
        if (!referenced) return;
        connection_.input = in.optional_signal("input", "added to the reference");
        connection_.reference = in.found_by_steady_start("reference", Range::any, "per unit");
    }
    void lower(Network& net, Reporter&) const override {
        net.machine_of[name_] = connection_.machine;
        Diagram diagram(net, name_);
        model_.build(diagram, parameters_, connection_);
    }
    [[nodiscard]] Census census() const override { return {.control = 1}; }

private:
    static ControlModel choose(Reader& in, const std::vector<ControlModel>& models) {
        std::vector<std::string> names;
        for (const ControlModel& m : models) names.emplace_back(m.name);
        const std::string name = in.choice("model", names);
        return *std::find_if(models.begin(), models.end(), [&](const ControlModel& m) { return m.name == name; });
    }
    std::string name_;
    ControlModel model_;
    Parameters parameters_;
    Connection connection_;
};

const std::vector<ControlModel>& exciters() {
    static const std::vector<ControlModel> all{dc1a_model(), ac1a_model(), ac4a_model(), st1a_model(), sexs_model()};
    return all;
}
const std::vector<ControlModel>& stabilizers() {
    static const std::vector<ControlModel> all{pss1a_model(), pss2b_model(), ieeest_model()};
    return all;
}
const std::vector<ControlModel>& governors() {
    static const std::vector<ControlModel> all{tgov1_model(), ieeeg1_model(), hygov_model(), gast_model()};
    return all;
}

template <const std::vector<ControlModel>& (*models)(), bool referenced>
ElementType type_of(std::string_view name) {
    return {name, [](Reader& in) -> std::unique_ptr<Element> { return std::make_unique<Controller>(in, models(), referenced); }};
}

}  // namespace

int reference_of(Diagram& d, const Connection& c) {
    const int reference_signal = d.add("reference", reference(c.reference));
    return c.input.empty() ? reference_signal : d.add("target", sum({{1, reference_signal}, {1, d.read(c.input)}}));
}

ElementType exciter_element() { return type_of<exciters, true>("exciter"); }
ElementType stabilizer_element() { return type_of<stabilizers, false>("stabilizer"); }
ElementType governor_element() { return type_of<governors, true>("governor"); }

}  // namespace emt
